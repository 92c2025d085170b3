// SPDX-License-Identifier: Apache-2.0
#include "attach/session/leftovers.h"

#include "attach/guard/interrupt.h"
#include "attach/guard/task_compare.h"
#include "attach/process/descriptor_sharers.h"
#include "attach/process/memory_file.h"
#include "attach/process/memory_sharers.h"
#include "attach/process/thread_descriptor.h"
#include "base/array.h"
#include "base/back_off.h"
#include "base/clock.h"
#include "base/log.h"
#include "inject/abi/limits.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LOOKS_BETWEEN_CHECKS = 256, FIRST_WAIT_US = 500, LONGEST_WAIT_US = 400000 };

// One stop does at least one table, and no more once it has lasted for so long.
static const uint64_t stop_enough_ns = 20000000;

static struct hs_error *add(struct leftover_descriptors *list, pid_t tid, int64_t number)
{
	if (ARRAY_RESERVE(list->items, list->count + 1, &list->room))
		return &hs_error_no_memory;
	list->items[list->count++] = (struct leftover_descriptor){ tid, number };
	return NULL;
}

// What one thread has; the first one only, if that is enough.
static struct hs_error *list_table(const struct process *process, const struct code_names *names, pid_t tid, bool one,
				   struct leftover_descriptors *list)
{
	struct hs_error *error = NULL;
	const int fd = process_openat_task(process, tid, "fd", O_RDONLY | O_DIRECTORY);
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);
	size_t looks = 0;

	if (fd >= 0 && !directory)
		close(fd);
	for (struct dirent *entry; directory && !error && !(one && list->count > 0) && (entry = readdir(directory));) {
		int64_t number = strtol(entry->d_name, NULL, 10);

		if (++looks % LOOKS_BETWEEN_CHECKS == 0)
			error = interrupt_check();
		if (!error && entry->d_name[0] != '.' &&
		    memory_file_may_be_left(names, dirfd(directory), entry->d_name) &&
		    memory_file_is_left(process, names, tid, number))
			error = add(list, tid, number);
	}
	if (directory)
		closedir(directory);
	return error;
}

static struct hs_error *list_all(const struct process *process, const struct code_names *names, bool one,
				 struct leftover_descriptors *ret)
{
	struct descriptor_tables tables;
	struct hs_error *error = descriptor_tables_list(process, &tables);

	*ret = (struct leftover_descriptors){ 0 };
	for (size_t i = 0; i < tables.count && !error && !(one && ret->count > 0); i++)
		error = list_table(process, names, tables.tids[i], one, ret);
	descriptor_tables_deinit(&tables);
	if (error)
		leftover_descriptors_deinit(ret);
	return error;
}

struct hs_error *leftover_descriptors_list(const struct process *process, const struct code_names *names,
					   struct leftover_descriptors *ret)
{
	return list_all(process, names, false, ret);
}

void leftover_descriptors_deinit(struct leftover_descriptors *list)
{
	free(list->items);
	*list = (struct leftover_descriptors){ 0 };
}

void leftover_descriptors_strangers(const struct process *process, const struct leftover_descriptors *list,
				    size_t first, struct strangers *ret)
{
	pid_t tids[HS_STRANGERS_TABLES_MAX - 1];
	size_t count = 0;

	for (size_t i = first; i < list->count && count < HS_STRANGERS_TABLES_MAX - 1; i++)
		if (count == 0 || tids[count - 1] != list->items[i].tid)
			tids[count++] = list->items[i].tid;
	strangers_list(process, tids, count, ret);
}

void leftover_descriptors_prove(const struct process *process, const struct code_names *names,
				struct leftover_descriptors *list)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->count; i++)
		if (memory_file_is_left(process, names, list->items[i].tid, list->items[i].number))
			list->items[kept++] = list->items[i];
	list->count = kept;
}

bool leftover_descriptors_exist(const struct process *process, const struct code_names *names)
{
	struct leftover_descriptors list;
	struct hs_error *error = list_all(process, names, true, &list);
	bool exist = !error && list.count > 0;

	hs_error_destroy(error);
	leftover_descriptors_deinit(&list);
	return exist;
}

bool leftovers_exist(const struct code_names *names, const struct target_memory *memory, const struct file_pages *files)
{
	return leftover_descriptors_exist(memory->process, names) || entry_patch_is_left(memory, files);
}

// A caller that has to write its own code there takes the old one away with it; then the private copy of the page
// stays.
static struct hs_error *clear_entry_point(struct remote_caller *caller)
{
	uint64_t arguments[6] = { 0, HS_PAGE_SIZE, MADV_DONTNEED };
	struct hs_error *error = NULL;
	int64_t result;

	if (caller->entry.address != 0)
		return NULL;
	if (entry_patch_is_left(caller->memory, caller->frozen->files)) {
		hs_verbose("putting back the bytes of the entry point that an unfinished attach has left changed");
		error = entry_patch_remove_left(caller->frozen, caller->memory, caller->carrier->tid, &arguments[0]);
	} else {
		arguments[0] = entry_patch_left_copy(caller->memory, caller->frozen->files);
	}
	if (error || arguments[0] == 0)
		return error;
	error = remote_call(caller, SYS_madvise, arguments, &result);
	if (!error && result < 0) // locked memory: the copy stays, and holds what the file holds
		hs_verbose("the copied page at the entry point stays: errno %d", (int)-result);
	return error;
}

// Not while another process shares the descriptors, and runs: what is proven now could be something else when it is
// closed.
static struct hs_error *close_own(struct remote_caller *caller, const struct code_names *names,
				  const struct leftover_descriptors *list, const struct strangers *strangers)
{
	pid_t tid = caller->carrier->tid;
	struct hs_error *errors = NULL;
	bool asked = false;

	for (size_t i = 0; i < list->count && !errors; i++) {
		const uint64_t arguments[6] = { (uint64_t)list->items[i].number };
		uint64_t result;

		// Proven in the caller's own table, whose thread ever it was found with.
		if (!memory_file_is_left(caller->frozen->process, names, tid, list->items[i].number))
			continue;
		if (!asked)
			errors = descriptor_sharers_check(caller->frozen->process, tid, strangers);
		asked = true;
		if (errors)
			break;
		hs_verbose("closing a descriptor that an unfinished attach has left");
		errors = remote_call_checked(caller, "close", SYS_close, arguments, &result);
	}
	return errors;
}

struct hs_error *leftovers_clear(struct remote_caller *caller, const struct code_names *names,
				 const struct leftover_descriptors *list, const struct strangers *strangers)
{
	struct hs_error *errors = close_own(caller, names, list, strangers);

	return hs_error_join(errors, clear_entry_point(caller));
}

// By a thread that has the descriptors of `tid`, if a caller can be had that is one.
static struct hs_error *clear_table(struct frozen_process *frozen, const struct target_memory *memory,
				    const struct code_names *names, const struct leftover_descriptors *list,
				    const struct strangers *strangers, pid_t tid)
{
	struct remote_caller caller;
	struct hs_error *error;

	task_compare_forget();
	for (size_t i = 0; i < frozen->count; i++)
		frozen->threads[i].avoid_as_carrier = !descriptor_table_is_shared(tid, frozen->threads[i].tid);
	error = task_compare_check(frozen->process->pid);
	if (!error)
		error = remote_call_open(frozen, memory, &caller);
	if (error)
		return error;
	if (!caller.carrier->avoid_as_carrier)
		error = close_own(&caller, names, list, strangers);
	return hs_error_join(error, remote_call_close(&caller));
}

// From *next on, which becomes the first that this stop has no time for, or whose sharers were not asked about.
static struct hs_error *clear_tables(struct frozen_process *frozen, const struct target_memory *memory,
				     const struct code_names *names, const struct leftover_descriptors *list,
				     const struct strangers *strangers, size_t *next)
{
	struct hs_error *error = NULL;
	pid_t last = 0;

	for (; *next < list->count && !error; ++*next) {
		pid_t tid = list->items[*next].tid;

		if (tid == last || !memory_file_is_left(memory->process, names, tid, list->items[*next].number))
			continue;
		if (last && (hs_monotonic_ns() - frozen->frozen_at > stop_enough_ns || !strangers_know(strangers, tid)))
			break;
		last = tid;
		error = interrupt_check();
		if (!error)
			error = clear_table(frozen, memory, names, list, strangers, tid);
	}
	return error;
}

static struct hs_error *clear_in_one_stop(struct target_memory *memory, const struct file_pages *files,
					  const struct code_names *names, const struct leftover_descriptors *list,
					  size_t *next, struct stop_times *times)
{
	struct frozen_process frozen;
	struct strangers strangers;
	struct hs_error *error;

	leftover_descriptors_strangers(memory->process, list, *next, &strangers);
	error = threads_freeze_memory(memory, HS_FREEZE_TIMEOUT_MS, &frozen);
	if (!error) {
		frozen.files = files;
		error = memory_sharers_check(frozen.process, frozen.threads[0].tid, &strangers);
		if (!error)
			error = clear_tables(&frozen, memory, names, list, &strangers, next);
		error = hs_error_join(error, threads_thaw(&frozen));
		stop_times_add(times, frozen.stopped_ns);
	}
	strangers_deinit(&strangers);
	return error;
}

static struct hs_error *clear_list(struct target_memory *memory, const struct file_pages *files,
				   const struct code_names *names, const struct leftover_descriptors *list,
				   struct stop_times *times)
{
	struct hs_error *error = NULL;

	for (size_t next = 0; next < list->count && !error;)
		error = clear_in_one_stop(memory, files, names, list, &next, times);
	return error;
}

struct hs_error *leftovers_clear_elsewhere(const struct code_names *names, struct target_memory *memory,
					   const struct file_pages *files, unsigned wait_ms, struct stop_times *times)
{
	const uint64_t deadline = hs_monotonic_ns() + (uint64_t)wait_ms * 1000000u;
	struct back_off wait = { FIRST_WAIT_US, LONGEST_WAIT_US };
	size_t before = SIZE_MAX;

	for (;;) {
		struct leftover_descriptors list;
		struct hs_error *error = leftover_descriptors_list(memory->process, names, &list);
		size_t count = list.count;

		if (!error && count < before)
			error = clear_list(memory, files, names, &list, times);
		leftover_descriptors_deinit(&list);
		if (!error && (count == 0 || count >= before))
			return NULL;
		before = error ? SIZE_MAX : count;
		if (!error)
			continue;
		if (error->code != HS_ERROR_REFUSED || hs_monotonic_ns() >= deadline)
			return error;
		// No thread can make calls at this moment, or another process shares the descriptors.
		hs_verbose("%s", error->message);
		hs_error_destroy(error);
		back_off_wait(&wait);
		error = interrupt_check();
		if (error)
			return error;
	}
}
