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
#include <string.h>
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

static bool is_stranger(pid_t other, void *context)
{
	const pid_t pid = *(const pid_t *)context;

	return compare_memory(pid, other) > 0 && descriptor_tables_compare(pid, other) > 0;
}

void memory_strangers_list(pid_t pid, struct pid_set *ret)
{
	*ret = (struct pid_set){ 0 };
	// A main thread that has ended has no memory, so all would be strangers to it.
	if (!strchr("ZX", thread_state(pid, pid)))
		pid_set_list("/proc", is_stranger, &pid, ret);
}

struct sharing {
	const struct frozen_process *process;
	const struct pid_set *strangers;
	struct hs_error *error; // ends the search: interrupted
};

static bool shares(pid_t other, void *context)
{
	struct sharing *sharing = context;

	if (!sharing->error)
		sharing->error = interrupt_check();
	return !sharing->error && other != sharing->process->pid && !pid_set_has(sharing->strangers, other) &&
	       compare_memory(sharing->process->threads[0].tid, other) == 0;
}

// The caller deinitializes *ret in any case.
static struct hs_error *list_sharers(const struct frozen_process *process, const struct pid_set *strangers, struct pid_set *ret)
{
	struct sharing sharing = { process, strangers, NULL };

	pid_set_list("/proc", shares, &sharing, ret);
	if (!sharing.error && ret->count > 0 && !proc_maps_has_memory(process->pid)) // as have all kernel threads, to which it is therefore equal
		return hs_error_create(HS_ERROR_GONE, "process %d is gone", (int)process->pid);
	return sharing.error;
}

static struct hs_error *refuse_sharer(pid_t pid, pid_t other)
{
	return hs_error_create(HS_ERROR_REFUSED, "process %d shares the memory of process %d without being one of its threads (clone with "
			       "CLONE_VM), and would run on while that is changed; try again when it has ended", (int)other, (int)pid);
}

struct hs_error *memory_sharers_check(const struct frozen_process *process, const struct pid_set *strangers)
{
	struct pid_set found;
	struct hs_error *error = list_sharers(process, strangers, &found);

	if (!error && found.count > 0)
		error = refuse_sharer(process->pid, found.pids[0]);
	pid_set_deinit(&found);
	return error;
}

// 0 = none of them shares it any more.
static pid_t one_that_shares(pid_t pid, const struct pid_set *some)
{
	const pid_t tid = hs_live_thread(pid);

	for (size_t i = 0; i < some->count; i++)
		if (compare_memory(tid, some->pids[i]) == 0)
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
		struct frozen_thread thread = { .tid = hs_live_thread(pid) };
		const struct frozen_process process = { .pid = pid, .threads = &thread, .count = 1 };
		const uint64_t began = hs_monotonic_ns();
		struct pid_set found;
		struct hs_error *error = list_sharers(&process, &none, &found);
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

struct descriptor_sharing {
	pid_t pid, tid;
	const struct pid_set *strangers;
	struct hs_error *error; // as above
};

static bool shares_descriptors(pid_t other, void *context)
{
	struct descriptor_sharing *sharing = context;

	if (!sharing->error)
		sharing->error = interrupt_check();
	return !sharing->error && other != sharing->pid && !pid_set_has(sharing->strangers, other) && descriptor_tables_compare(sharing->tid, other) == 0;
}

struct hs_error *descriptor_sharers_check(const struct frozen_process *process, pid_t tid, const struct pid_set *strangers)
{
	static const struct pid_set none;
	// Strangers to the main thread, which may have other descriptors than this one.
	bool holds = descriptor_tables_compare(process->pid, tid) == 0;
	struct descriptor_sharing sharing = { process->pid, tid, holds ? strangers : &none, NULL };
	struct hs_error *error;
	struct pid_set found;

	pid_set_list("/proc", shares_descriptors, &sharing, &found);
	error = sharing.error;
	if (!error && found.count > 0 && !proc_maps_has_memory(process->pid)) // nor descriptors, as others that end
		error = hs_error_create(HS_ERROR_GONE, "process %d is gone", (int)process->pid);
	else if (!error && found.count > 0)
		error = hs_error_create(HS_ERROR_REFUSED, "process %d shares the descriptors of process %d (clone with CLONE_FILES), and could exchange "
					"those that heapsnap makes there; try again when it has ended", (int)found.pids[0], (int)process->pid);
	pid_set_deinit(&found);
	return error;
}

struct hs_error *descriptor_sharers_look(pid_t pid)
{
	struct frozen_thread thread = { .tid = hs_live_thread(pid) };
	const struct frozen_process process = { .pid = pid, .threads = &thread, .count = 1 };
	static const struct pid_set none;
	struct descriptor_tables tables;
	struct hs_error *error = NULL;

	descriptor_tables_list(pid, &tables);
	for (size_t i = 0; i < tables.count && !error; i++)
		error = descriptor_sharers_check(&process, tables.tids[i], &none);
	descriptor_tables_deinit(&tables);
	return error;
}
