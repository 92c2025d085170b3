// SPDX-License-Identifier: Apache-2.0
// What a tool that was killed in the middle of an attach can leave in a target besides a region and code of ours (attach/inherited.h): open
// memory files, and code for system calls at the program's entry point.
#ifndef HEAPSNAP_ATTACH_LEFTOVERS_H
#define HEAPSNAP_ATTACH_LEFTOVERS_H

#include "attach/remote_call.h"
#include "base/error.h"

#include <stdbool.h>
#include <sys/types.h>

// Whether there is anything to clear away. Descriptors that cannot be listed count as none.
bool leftovers_exist(pid_t pid, const struct target_memory *memory);

// Closes memory files of ours and puts the bytes of the entry point back. Goes on after a failure. HS_ERROR_REFUSED while a thread stands at
// the entry point.
struct hs_error *leftovers_clear(struct remote_caller *caller) HS_MUST_CHECK;

#endif
