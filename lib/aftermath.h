// SPDX-License-Identifier: Apache-2.0
// The state of a process after a command on it has failed.
#ifndef HEAPSNAP_LIB_AFTERMATH_H
#define HEAPSNAP_LIB_AFTERMATH_H

#include "base/error.h"
#include "base/process.h"
#include "lib/status.h"

// The error, which this takes over, or a better one: where the process is said to be gone but lives, it has executed
// another program meanwhile.
struct hs_error *hs_aftermath_explain(const struct process *process, struct hs_error *error) HS_MUST_CHECK;

// To be called after HS_ERROR_INTERRUPTED, which it takes for dealt with: looks at the process. *is_free_ret: nothing
// of heapsnap is in it, and *ret is not filled. An error says why that cannot be told.
struct hs_error *hs_aftermath_look(const struct process *process, struct hs_status *ret,
				   bool *is_free_ret) HS_MUST_CHECK;

#endif
