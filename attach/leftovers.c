// SPDX-License-Identifier: Apache-2.0
#include "attach/leftovers.h"

#include "attach/memory_file.h"
#include "attach/memory_sharers.h"
#include "attach/thread_descriptor.h"
#include "base/log.h"
#include "inject/abi/limits.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

// The next descriptor of ours above `after` that the thread has; -1 = none.
static long next_descriptor(pid_t pid, pid_t tid, long after)
{
	long next = -1;
	DIR *directory;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/fd", (int)pid, (int)tid);
	directory = opendir(path);
	for (struct dirent *entry; directory && (entry = readdir(directory));) {
		long fd = entry->d_name[0] == '.' ? -1 : strtol(entry->d_name, NULL, 10);

		if (fd > after && (next < 0 || fd < next) && memory_file_is_left(pid, tid, fd))
			next = fd;
	}
	if (directory)
		closedir(directory);
	return next;
}

bool leftover_descriptors_exist(pid_t pid)
{
	struct descriptor_tables tables;
	bool exist = false;

	descriptor_tables_list(pid, &tables);
	for (size_t i = 0; i < tables.count && !exist; i++)
		exist = next_descriptor(pid, tables.tids[i], -1) >= 0;
	descriptor_tables_deinit(&tables);
	return exist;
}

bool leftovers_exist(pid_t pid, const struct target_memory *memory)
{
	return leftover_descriptors_exist(pid) || entry_patch_is_left(pid, memory);
}

// A caller that has to write its own code there takes the old one away with it; then the private copy of the page stays.
static struct hs_error *clear_entry_point(struct remote_caller *caller)
{
	uint64_t arguments[6] = { 0, HS_PAGE_SIZE, MADV_DONTNEED };
	struct hs_error *error = NULL;
	int64_t result;

	if (caller->entry.address != 0)
		return NULL;
	if (entry_patch_is_left(caller->process->pid, caller->memory)) {
		hs_verbose("putting back the bytes of the entry point that an unfinished attach has left changed");
		error = entry_patch_remove_left(caller->process, caller->memory, caller->victim->tid, &arguments[0]);
	} else {
		arguments[0] = entry_patch_left_copy(caller->process->pid, caller->memory);
	}
	if (error || arguments[0] == 0)
		return error;
	error = remote_call(caller, SYS_madvise, arguments, &result);
	if (!error && result < 0) // locked memory: the copy stays, and holds what the file holds
		hs_verbose("the copied page at the entry point stays: errno %d", (int)-result);
	return error;
}

// Not while another process shares the descriptors, and runs: what is proven now could be something else when it is closed.
static struct hs_error *close_own(struct remote_caller *caller)
{
	pid_t pid = caller->process->pid, tid = caller->victim->tid;
	const struct pid_set none = { 0 };
	long first = next_descriptor(pid, tid, -1);
	struct hs_error *errors = first >= 0 ? descriptor_sharers_check(caller->process, tid, &none) : NULL;

	for (long fd = errors ? -1 : first; fd >= 0; fd = next_descriptor(pid, tid, fd)) {
		const uint64_t arguments[6] = { (uint64_t)fd };
		uint64_t result;

		hs_verbose("closing a descriptor that an unfinished attach has left");
		errors = hs_error_join(errors, remote_call_checked(caller, "close", SYS_close, arguments, &result));
	}
	return errors;
}

struct hs_error *leftovers_clear(struct remote_caller *caller, bool descriptors)
{
	struct hs_error *errors = descriptors ? close_own(caller) : NULL;

	return hs_error_join(errors, clear_entry_point(caller));
}

// By a thread that has the descriptors of `tid`, if a caller can be had that is one.
static struct hs_error *clear_table(struct frozen_process *process, const struct target_memory *memory, pid_t tid)
{
	struct remote_caller caller;
	struct hs_error *error;

	for (size_t i = 0; i < process->count; i++)
		process->threads[i].avoid_as_victim = !descriptor_table_is_shared(tid, process->threads[i].tid);
	error = remote_call_open(process, memory, &caller);
	if (error)
		return error;
	if (!caller.victim->avoid_as_victim)
		error = close_own(&caller);
	return hs_error_join(error, remote_call_close(&caller));
}

struct hs_error *leftovers_clear_elsewhere(struct frozen_process *process, const struct target_memory *memory)
{
	struct descriptor_tables tables;
	struct hs_error *errors = NULL;

	descriptor_tables_list(process->pid, &tables);
	for (size_t i = 0; i < tables.count; i++)
		if (next_descriptor(process->pid, tables.tids[i], -1) >= 0)
			errors = hs_error_join(errors, clear_table(process, memory, tables.tids[i]));
	descriptor_tables_deinit(&tables);
	return errors;
}
