// SPDX-License-Identifier: Apache-2.0
#include "attach/memory_sharers.h"

#include "attach/interrupt.h"
#include "attach/thread_descriptor.h"
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
	if (!strchr("ZX", threads_state(pid, pid)))
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

struct hs_error *memory_sharers_check(const struct frozen_process *process, const struct pid_set *strangers)
{
	struct sharing sharing = { process, strangers, NULL };
	struct hs_error *error;
	struct pid_set found;

	pid_set_list("/proc", shares, &sharing, &found);
	error = sharing.error;
	if (!error && found.count > 0 && !proc_maps_has_memory(process->pid)) // as have all kernel threads, to which it is therefore equal
		error = hs_error_create(HS_ERROR_GONE, "process %d is gone", (int)process->pid);
	else if (!error && found.count > 0)
		error = hs_error_create(HS_ERROR_REFUSED, "process %d shares the memory of process %d without being one of its threads (clone with "
					"CLONE_VM), and would run on while that is changed; try again when it has ended", (int)found.pids[0],
					(int)process->pid);
	pid_set_deinit(&found);
	return error;
}

struct hs_error *memory_sharers_wait(pid_t pid, unsigned wait_ms)
{
	const uint64_t deadline = hs_monotonic_ns() + (uint64_t)wait_ms * 1000000u;
	static const struct pid_set none;

	for (;;) {
		struct frozen_thread thread = { .tid = hs_live_thread(pid) };
		const struct frozen_process process = { .pid = pid, .threads = &thread, .count = 1 };
		struct hs_error *error = memory_sharers_check(&process, &none);

		if (!error || error->code != HS_ERROR_REFUSED || hs_monotonic_ns() >= deadline)
			return error;
		hs_error_destroy(error);
		usleep(SHARERS_POLL_US);
		error = interrupt_check();
		if (error)
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
