// SPDX-License-Identifier: Apache-2.0
#include "attach/process/memory_sharers.h"

#include "attach/guard/interrupt.h"
#include "attach/process/thread_descriptor.h"
#include "attach/process/thread_facts.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/proc_maps.h"
#include "base/proc_status.h"
#include "base/process.h"

#include <linux/kcmp.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SHARERS_POLL_US = 5000 };
// Sharers that have been there for less than this, ns, are taken for such as end soon.
#define NEW_SHARERS_NS UINT64_C(500000000)

// Of two threads, kcmp(2): 0 = the same, 1 or 2 = another, negative = not permitted, gone, or no such call.
static long compare_memory(pid_t tid, pid_t other_tid) { return syscall(SYS_kcmp, tid, other_tid, KCMP_VM, 0, 0); }

// What shares may be any thread: the main thread of another process may have ended, and has nothing then, and each may
// have descriptors of its own.
static bool may_share(const struct process *other, pid_t tid, const void *context)
{
	const struct process *process = context;

	(void)other;
	return compare_memory(process->pid, tid) <= 0 || descriptor_tables_compare(process->pid, tid) <= 0;
}

static bool is_stranger(const struct process *other, void *context)
{
	const struct process *process = *(const struct process *const *)context;

	return compare_memory(process->pid, other->pid) > 0 && !thread_first(other, may_share, process);
}

static const struct pid_set no_strangers;

void memory_strangers_list(const struct process *process, struct pid_set *ret)
{
	*ret = (struct pid_set){ 0 };
	// A main thread that has ended has no memory, so all would be strangers to it.
	if (!thread_is_ending(process, process->pid))
		process_set_list(&no_strangers, is_stranger, &process, ret);
}

struct sharing {
	const struct process *process;
	const pid_t *tids; // of `process`: one for each memory or table of descriptors that is asked for
	size_t count;
	const struct pid_set *strangers;
	bool (*shares)(const struct process *other, pid_t tid, const void *sharing);
	struct hs_error *error; // ends the search: interrupted
};

static bool has_memory(const struct process *process, pid_t tid)
{
	HS_CLEANUP_FREE char *status = NULL;
	struct hs_error *error = process_read_task_file(process, tid, "status", &status, NULL);

	hs_error_destroy(error);
	return !error && proc_status_number(status, "VmSize:", 10, 0) != 0; // task_mem in fs/proc/task_mmu.c
}

// Threads that are about to be gone, and kernel threads, have none: to kcmp(2) that is the same one.
static bool shares_memory(const struct process *other, pid_t tid, const void *context)
{
	const struct sharing *sharing = context;

	return compare_memory(sharing->tids[0], tid) == 0 && has_memory(other, tid);
}

// Each with each, where one of those that an order is asked of is gone.
static bool is_one_of_tables(const struct sharing *sharing, pid_t tid)
{
	for (size_t i = 0; i < sharing->count; i++)
		if (descriptor_tables_compare(sharing->tids[i], tid) == 0)
			return true;
	return false;
}

// `tids` of descriptor_tables_list: the first one's table, and those of the others in the order of kcmp(2).
static bool has_one_of_tables(const struct sharing *sharing, pid_t tid)
{
	size_t low = 1, high = sharing->count;

	if (descriptor_tables_compare(sharing->tids[0], tid) == 0)
		return true;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const long order = descriptor_tables_compare(sharing->tids[middle], tid);

		if (order < 0)
			return is_one_of_tables(sharing, tid);
		if (order == 0)
			return true;
		if (order == 1)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

// Threads that are about to be gone have no table any more: to kcmp(2) that is the same one.
static bool shares_descriptors(const struct process *other, pid_t tid, const void *context)
{
	return has_one_of_tables(context, tid) && descriptor_table_exists(other, tid);
}

static bool process_shares(const struct process *other, void *context)
{
	struct sharing *sharing = context;

	if (!sharing->error)
		sharing->error = interrupt_check();
	return !sharing->error && other->pid != sharing->process->pid &&
	       thread_first(other, sharing->shares, sharing) != 0;
}

// The caller deinitializes *ret in any case.
static struct hs_error *list_sharers(struct sharing *sharing, struct pid_set *ret)
{
	process_set_list(sharing->strangers, process_shares, sharing, ret);
	// A process that has ended has neither memory nor descriptors, as kernel threads have no memory: to kcmp(2)
	// these are the same.
	if (!sharing->error && ret->count > 0 && !proc_maps_has_memory(sharing->process))
		return process_gone(sharing->process);
	return sharing->error;
}

static struct hs_error *refuse_sharer(const struct process *process, pid_t other)
{
	return hs_error_create(
		HS_ERROR_REFUSED,
		"process %d shares the memory of process %d without being one of its threads (clone with "
		"CLONE_VM), and would run on while that is changed; try again when it has ended",
		(int)other, (int)process->pid);
}

struct hs_error *memory_sharers_check(const struct process *process, pid_t tid, const struct pid_set *strangers)
{
	struct sharing sharing = {
		.process = process, .tids = &tid, .count = 1, .strangers = strangers, .shares = shares_memory
	};
	struct pid_set found;
	struct hs_error *error = list_sharers(&sharing, &found);

	if (!error && found.count > 0)
		error = refuse_sharer(process, found.pids[0]);
	pid_set_deinit(&found);
	return error;
}

static struct hs_error *refuse_sharer_of_descriptors(const struct process *process, pid_t other)
{
	return hs_error_create(
		HS_ERROR_REFUSED,
		"process %d shares the descriptors of process %d (clone with CLONE_FILES), and could exchange those that heapsnap makes "
		"there; try again when it has ended",
		(int)other, (int)process->pid);
}

// 0 = none of them shares it any more.
static pid_t one_that_shares(struct sharing *sharing, const struct pid_set *some)
{
	pid_t found = 0;

	for (size_t i = 0; !found && i < some->count; i++) {
		HS_CLEANUP_PROCESS struct process other = PROCESS_CLOSED;
		struct hs_error *error = process_glance(some->pids[i], &other);

		if (!error && thread_first(&other, sharing->shares, sharing))
			found = other.pid;
		hs_error_destroy(error);
	}
	return found;
}

static struct hs_error *wait_for_sharers(struct sharing *sharing, const struct pid_set *some,
					 struct hs_error *(*refuse)(const struct process *, pid_t other),
					 uint64_t deadline)
{
	struct hs_error *error = NULL;
	pid_t other;

	while (!error && (other = one_that_shares(sharing, some))) {
		if (!proc_maps_has_memory(sharing->process))
			return process_gone(sharing->process);
		if (hs_monotonic_ns() >= deadline)
			return refuse(sharing->process, other);
		usleep(SHARERS_POLL_US);
		error = interrupt_check();
	}
	return error;
}

// One round: waits for those that are there at its beginning. *again_ret: another one is needed. After a short one
// those still there began during it, so none has been there for long.
static struct hs_error *wait_once(struct sharing *sharing,
				  struct hs_error *(*refuse)(const struct process *, pid_t other), uint64_t deadline,
				  bool *again_ret)
{
	const uint64_t began = hs_monotonic_ns();
	struct pid_set found;
	struct hs_error *error = list_sharers(sharing, &found);
	uint64_t now;

	if (!error)
		error = wait_for_sharers(sharing, &found, refuse, deadline);
	now = hs_monotonic_ns();
	*again_ret = found.count > 0 && now - began >= NEW_SHARERS_NS && now < deadline;
	pid_set_deinit(&found);
	return error;
}

struct hs_error *memory_sharers_wait(const struct process *process, unsigned wait_ms)
{
	const uint64_t deadline = hs_monotonic_ns() + (uint64_t)wait_ms * 1000000u;
	struct hs_error *error;
	bool again;

	do {
		const pid_t tid = process_live_thread(process);
		struct sharing sharing = { .process = process,
					   .tids = &tid,
					   .count = 1,
					   .strangers = &no_strangers,
					   .shares = shares_memory };

		error = wait_once(&sharing, refuse_sharer, deadline, &again);
	} while (!error && again);
	return error;
}

struct hs_error *descriptor_sharers_wait(const struct process *process, unsigned wait_ms)
{
	const uint64_t deadline = hs_monotonic_ns() + (uint64_t)wait_ms * 1000000u;
	struct hs_error *error;
	bool again;

	do {
		struct descriptor_tables tables;
		struct sharing sharing = { .process = process,
					   .strangers = &no_strangers,
					   .shares = shares_descriptors };

		descriptor_tables_list(process, &tables);
		sharing.tids = tables.tids;
		sharing.count = tables.count;
		error = tables.count > 0 ? wait_once(&sharing, refuse_sharer_of_descriptors, deadline, &again)
					 : &hs_error_no_memory;
		descriptor_tables_deinit(&tables);
	} while (!error && again);
	return error;
}

struct hs_error *descriptor_sharers_check(const struct process *process, pid_t tid, const struct pid_set *strangers)
{
	// Strangers to the main thread, which may have other descriptors than this one.
	bool holds = descriptor_tables_compare(process->pid, tid) == 0;
	struct sharing sharing = {
		.process = process,
		.tids = &tid,
		.count = 1,
		.strangers = holds ? strangers : &no_strangers,
		.shares = shares_descriptors,
	};
	struct pid_set found;
	struct hs_error *error = list_sharers(&sharing, &found);

	if (!error && found.count > 0)
		error = refuse_sharer_of_descriptors(process, found.pids[0]);
	pid_set_deinit(&found);
	return error;
}
