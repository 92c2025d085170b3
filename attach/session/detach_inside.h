// SPDX-License-Identifier: Apache-2.0
// Who may still come back to heapsnap's code, in one freeze of a detach: threads, and calls that coroutines have left.
#ifndef HEAPSNAP_ATTACH_SESSION_DETACH_INSIDE_H
#define HEAPSNAP_ATTACH_SESSION_DETACH_INSIDE_H

#include "attach/region/inside.h"
#include "attach/session/detach_state.h"
#include "attach/session/session.h"
#include "base/error.h"

// Sets what the report says of threads and calls. Errors are those of reading the target, of too little memory and of
// an interruption. pre: the hooks are out; the report's numbers of both are 0.
struct hs_error *detach_count_inside(struct detach_state *state, struct frozen_process *frozen,
				     struct unwind_tables *tables, struct detach_report *report) HS_MUST_CHECK;

#endif
