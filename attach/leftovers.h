// SPDX-License-Identifier: Apache-2.0
// What a tool that was killed in the middle of an attach or detach can leave in a target besides a region: open memfds, code for system
// calls at the program's entry point, and code that is mapped while no region is. No hook leads into such code: hooks are written only while the region is there. A child that was forked
// from an attached process looks alike, but its code does lead there (and is passed straight through); it is left alone.
#ifndef HEAPSNAP_ATTACH_LEFTOVERS_H
#define HEAPSNAP_ATTACH_LEFTOVERS_H

#include "attach/remote_call.h"
#include "base/error.h"
#include "base/proc_maps.h"

#include <stdbool.h>
#include <sys/types.h>

// Whether there is anything to clear away. Descriptors that cannot be listed count as none.
bool leftovers_exist(pid_t pid, const struct proc_maps *maps, const struct target_memory *memory);

// HS_ERROR_REFUSED when code of the target still leads into ours: the process was forked from an attached one.
struct hs_error *leftovers_check_unused(pid_t pid, const struct proc_maps *maps, const struct target_memory *memory) HS_MUST_CHECK;

// pre: leftovers_check_unused allows it. Closes memfds of ours, puts the bytes of the entry point back, and unmaps code of ours with the
// state page behind it when there is no region. Goes on after a failure. HS_ERROR_REFUSED while a thread stands at the entry point.
struct hs_error *leftovers_clear(struct remote_caller *caller) HS_MUST_CHECK;

#endif
