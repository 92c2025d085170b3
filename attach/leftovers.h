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

// Whether any thread has a descriptor of a memory file of ours. Those that cannot be listed count as none.
bool leftover_descriptors_exist(pid_t pid);

// Closes memory files of ours that the calling thread has, if `descriptors` asks for that, and puts the bytes of the entry point back. Goes on
// after a failure. HS_ERROR_REFUSED while a thread stands at the entry point.
struct hs_error *leftovers_clear(struct remote_caller *caller, bool descriptors) HS_MUST_CHECK;

// Closes those that only threads with descriptors of their own have, by such a thread. Where none of them can make calls, they stay; detach says so.
// pre: no caller is open; every thread is stopped.
struct hs_error *leftovers_clear_elsewhere(struct frozen_process *process, const struct target_memory *memory) HS_MUST_CHECK;

#endif
