// SPDX-License-Identifier: Apache-2.0
// What a tool that was killed in the middle of an attach can leave in a target besides a region and code of ours
// (attach/session/inherited.h): open memory files, and code for system calls at the program's entry point.
#ifndef HEAPSNAP_ATTACH_SESSION_LEFTOVERS_H
#define HEAPSNAP_ATTACH_SESSION_LEFTOVERS_H

#include "attach/guard/standstill.h"
#include "attach/process/code_names.h"
#include "attach/process/sharing.h"
#include "attach/ptrace/remote_call.h"
#include "base/error.h"

#include <stdbool.h>
#include <sys/types.h>

// Descriptors of our memory files. Found before a freeze, since a process may have thousands of others; under it only
// these are proven again.
struct leftover_descriptors {
	struct leftover_descriptor {
		pid_t tid; // a thread that has it
		int64_t number;
	} * items; // owned
	size_t count, room;
};

// In all tables of descriptors of the process. Those that cannot be listed count as none. HS_ERROR_INTERRUPTED.
struct hs_error *leftover_descriptors_list(const struct process *process, const struct code_names *names,
					   struct leftover_descriptors *ret) HS_MUST_CHECK;
void leftover_descriptors_deinit(struct leftover_descriptors *list);
// strangers_list, before a freeze, also for the threads of the list from the item `first` on, as many as there is room
// for.
void leftover_descriptors_strangers(const struct process *process, const struct leftover_descriptors *list,
				    size_t first, struct strangers *ret);
// Leaves in the list what is there still.
void leftover_descriptors_prove(const struct process *process, const struct code_names *names,
				struct leftover_descriptors *list);

// Whether there is any.
bool leftover_descriptors_exist(const struct process *process, const struct code_names *names);
// Whether there is anything to clear away. `files`, here and below: what was read of them before the target stood
// still; NULL = nothing.
bool leftovers_exist(const struct code_names *names, const struct target_memory *memory,
		     const struct file_pages *files);

// Closes those of the list that the calling thread has, and puts the bytes of the entry point back. Goes on after a
// failure. HS_ERROR_REFUSED while a thread stands at the entry point. `strangers`: of leftover_descriptors_strangers.
struct hs_error *leftovers_clear(struct remote_caller *caller, const struct code_names *names,
				 const struct leftover_descriptors *list,
				 const struct strangers *strangers) HS_MUST_CHECK;

// Closes those that only threads with descriptors of their own have, each by such a thread, in as many short stops as
// that takes. Where none of them can make calls, they stay; detach says so. HS_ERROR_REFUSED when something was in the
// way for all of `wait_ms`. *times is added to.
struct hs_error *leftovers_clear_elsewhere(const struct code_names *names, struct target_memory *memory,
					   const struct file_pages *files, unsigned wait_ms,
					   struct stop_times *times) HS_MUST_CHECK;

#endif
