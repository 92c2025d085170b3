// SPDX-License-Identifier: Apache-2.0
#include "attach/memory_sharers.h"

#include "attach/interrupt.h"
#include "attach/thread_descriptor.h"
#include "attach/thread_facts.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/live_thread.h"
#include "base/proc_maps.h"

#include <linux/kcmp.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SHARERS_POLL_US = 5000 };
// Sharers that have been there for less than this, ns, are taken for such as end soon.
#define NEW_SHARERS_NS UINT64_C(500000000)

// kcmp(2): 0 = the same, 1 or 2 = another, negative = not permitted, gone, or no such call.
static long compare_memory(pid_t one, pid_t other)
{
	return syscall(SYS_kcmp, one, other, KCMP_VM, 0, 0);
}

// What shares may be any thread: the main thread of another process may have ended, and has nothing then, and each may have descriptors of its own.
static bool may_share(pid_t tid, void *context)
{
	const pid_t pid = *(const pid_t *)context;

	return compare_memory(pid, tid) <= 0 || descriptor_tables_compare(pid, tid) <= 0;
}

static bool is_stranger(pid_t other, void *context)
{
	return compare_memory(*(const pid_t *)context, other) > 0 && !pid_first_thread(other, may_share, context);
}

void memory_strangers_list(pid_t pid, struct pid_set *ret)
{
	*ret = (struct pid_set){ 0 };
	// A main thread that has ended has no memory, so all would be strangers to it.
	if (!thread_is_ending(pid, pid))
		pid_set_list("/proc", is_stranger, &pid, ret);
}

struct sharing {
	pid_t pid;
	const pid_t *tids; // of `pid`: one for each memory or table of descriptors that is asked for
	size_t count;
	const struct pid_set *strangers;
	bool (*shares)(pid_t tid, void *sharing);
	struct hs_error *error; // ends the search: interrupted
};

static bool shares_memory(pid_t tid, void *context)
{
	const struct sharing *sharing = context;

	return compare_memory(sharing->tids[0], tid) == 0;
}

// Threads that are about to be gone have no table any more: to kcmp(2) that is the same one.
static bool shares_descriptors(pid_t tid, void *context)
{
	const struct sharing *sharing = context;

	for (size_t i = 0; i < sharing->count; i++)
		if (descriptor_tables_compare(sharing->tids[i], tid) == 0)
			return descriptor_table_exists(tid, tid);
	return false;
}

static bool process_shares(pid_t other, void *context)
{
	struct sharing *sharing = context;

	if (!sharing->error)
		sharing->error = interrupt_check();
	return !sharing->error && other != sharing->pid && !pid_set_has(sharing->strangers, other) &&
	       pid_first_thread(other, sharing->shares, sharing) != 0;
}

// The caller deinitializes *ret in any case.
static struct hs_error *list_sharers(struct sharing *sharing, struct pid_set *ret)
{
	pid_set_list("/proc", process_shares, sharing, ret);
	// A process that has ended has neither memory nor descriptors, as kernel threads have no memory: to kcmp(2) these are the same.
	if (!sharing->error && ret->count > 0 && !proc_maps_has_memory(sharing->pid))
		return hs_error_create(HS_ERROR_GONE, "process %d is gone", (int)sharing->pid);
	return sharing->error;
}

static struct hs_error *refuse_sharer(pid_t pid, pid_t other)
{
	return hs_error_create(HS_ERROR_REFUSED, "process %d shares the memory of process %d without being one of its threads (clone with "
			       "CLONE_VM), and would run on while that is changed; try again when it has ended", (int)other, (int)pid);
}

struct hs_error *memory_sharers_check(const struct frozen_process *process, const struct pid_set *strangers)
{
	const pid_t tid = process->threads[0].tid;
	struct sharing sharing = { .pid = process->pid, .tids = &tid, .count = 1, .strangers = strangers, .shares = shares_memory };
	struct pid_set found;
	struct hs_error *error = list_sharers(&sharing, &found);

	if (!error && found.count > 0)
		error = refuse_sharer(process->pid, found.pids[0]);
	pid_set_deinit(&found);
	return error;
}

// 0 = none of them shares it any more.
static pid_t one_that_shares(pid_t pid, const struct pid_set *some)
{
	const pid_t tid = hs_live_thread(pid);
	struct sharing sharing = { .tids = &tid, .count = 1 };

	for (size_t i = 0; i < some->count; i++)
		if (pid_first_thread(some->pids[i], shares_memory, &sharing))
			return some->pids[i];
	return 0;
}

static struct hs_error *wait_for_sharers(pid_t pid, const struct pid_set *some, uint64_t deadline)
{
	struct hs_error *error = NULL;
	pid_t other;

	while (!error && (other = one_that_shares(pid, some))) {
		if (!proc_maps_has_memory(pid))
			return hs_error_create(HS_ERROR_GONE, "process %d is gone", (int)pid);
		if (hs_monotonic_ns() >= deadline)
			return refuse_sharer(pid, other);
		usleep(SHARERS_POLL_US);
		error = interrupt_check();
	}
	return error;
}

// In rounds, each with those that are there at its beginning: after a short one, those still there began during it, so none has been there for long.
struct hs_error *memory_sharers_wait(pid_t pid, unsigned wait_ms)
{
	const uint64_t deadline = hs_monotonic_ns() + (uint64_t)wait_ms * 1000000u;
	static const struct pid_set none;

	for (;;) {
		const pid_t tid = hs_live_thread(pid);
		struct sharing sharing = { .pid = pid, .tids = &tid, .count = 1, .strangers = &none, .shares = shares_memory };
		const uint64_t began = hs_monotonic_ns();
		struct pid_set found;
		struct hs_error *error = list_sharers(&sharing, &found);
		const bool some = found.count > 0;
		uint64_t now;

		if (!error)
			error = wait_for_sharers(pid, &found, deadline);
		pid_set_deinit(&found);
		now = hs_monotonic_ns();
		if (error || !some || now - began < NEW_SHARERS_NS || now >= deadline)
			return error;
	}
}

static struct hs_error *refuse_shared_descriptors(struct sharing *sharing)
{
	struct pid_set found;
	struct hs_error *error;

	sharing->shares = shares_descriptors;
	error = list_sharers(sharing, &found);
	if (!error && found.count > 0)
		error = hs_error_create(HS_ERROR_REFUSED, "process %d shares the descriptors of process %d (clone with CLONE_FILES), and could exchange "
					"those that heapsnap makes there; try again when it has ended", (int)found.pids[0], (int)sharing->pid);
	pid_set_deinit(&found);
	return error;
}

struct hs_error *descriptor_sharers_check(const struct frozen_process *process, pid_t tid, const struct pid_set *strangers)
{
	static const struct pid_set none;
	// Strangers to the main thread, which may have other descriptors than this one.
	bool holds = descriptor_tables_compare(process->pid, tid) == 0;
	struct sharing sharing = { .pid = process->pid, .tids = &tid, .count = 1, .strangers = holds ? strangers : &none };

	return refuse_shared_descriptors(&sharing);
}

struct hs_error *descriptor_sharers_look(pid_t pid)
{
	static const struct pid_set none;
	struct descriptor_tables tables;
	struct hs_error *error;

	descriptor_tables_list(pid, &tables);
	error = refuse_shared_descriptors(&(struct sharing){ .pid = pid, .tids = tables.tids, .count = tables.count, .strangers = &none });
	descriptor_tables_deinit(&tables);
	return error;
}
