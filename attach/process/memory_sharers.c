// SPDX-License-Identifier: Apache-2.0
#include "attach/process/memory_sharers.h"

#include "attach/process/sharing.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/proc_status.h"

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

	return sharing_compare_memory(sharing->tids[0], tid) == 0 && has_memory(other, tid);
}

static struct hs_error *refuse_sharer(const struct process *process, pid_t other)
{
	return hs_error_create(
		HS_ERROR_REFUSED,
		"process %d shares the memory of process %d without being one of its threads (clone with "
		"CLONE_VM), and would run on while that is changed; try again when it has ended",
		(int)other, (int)process->pid);
}

struct hs_error *memory_sharers_check(const struct process *process, pid_t tid, const struct strangers *strangers)
{
	struct sharing sharing = {
		.process = process,
		.tids = &tid,
		.count = 1,
		.strangers = strangers,
		.shares = shares_memory,
		.refuse = refuse_sharer,
	};

	return sharing_check(&sharing);
}

struct hs_error *memory_sharers_wait(const struct process *process, unsigned wait_ms)
{
	const uint64_t deadline = hs_monotonic_ns() + (uint64_t)wait_ms * 1000000u;
	struct hs_error *error;
	bool again;

	do {
		const pid_t tid = process_live_thread(process);
		struct sharing sharing = {
			.process = process, .tids = &tid, .count = 1, .shares = shares_memory, .refuse = refuse_sharer
		};

		error = sharing_wait_once(&sharing, deadline, &again);
	} while (!error && again);
	return error;
}
