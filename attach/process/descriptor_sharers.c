// SPDX-License-Identifier: Apache-2.0
#include "attach/process/descriptor_sharers.h"

#include "attach/guard/task_compare.h"
#include "attach/process/sharing.h"
#include "attach/process/thread_descriptor.h"
#include "base/clock.h"

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
	const long first = descriptor_tables_compare(sharing->tids[0], tid);
	size_t low = 1, high = sharing->count;

	if (first == 0 || first == TASK_COMPARE_LEAVES)
		return first == 0;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const long order = descriptor_tables_compare(sharing->tids[middle], tid);

		if (order < 0)
			return is_one_of_tables(sharing, tid);
		if (order == 0 || order == TASK_COMPARE_LEAVES)
			return order == 0;
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

static struct hs_error *refuse_sharer(const struct process *process, pid_t other)
{
	return hs_error_create(
		HS_ERROR_REFUSED,
		"process %d shares the descriptors of process %d (clone with CLONE_FILES), and could exchange those that heapsnap makes "
		"there; try again when it has ended",
		(int)other, (int)process->pid);
}

void descriptor_strangers_list(const struct process *process, struct strangers *ret)
{
	struct descriptor_tables tables;

	// Where they cannot be told, strangers_know says so of all but the first.
	hs_error_destroy(descriptor_tables_list(process, &tables));
	strangers_list(process, tables.tids, tables.count, ret);
	descriptor_tables_deinit(&tables);
}

struct hs_error *descriptor_sharers_check(const struct process *process, pid_t tid, const struct strangers *strangers)
{
	const bool holds = strangers_know(strangers, tid);
	const struct strangers others = { .untold = strangers->untold };
	struct sharing sharing = {
		.process = process,
		.tids = &tid,
		.count = 1,
		.strangers = holds ? strangers : &others,
		.shares = shares_descriptors,
		.refuse = refuse_sharer,
	};

	return sharing_check(&sharing);
}

struct hs_error *descriptor_sharers_wait(const struct process *process, unsigned wait_ms)
{
	const uint64_t deadline = hs_monotonic_ns() + (uint64_t)wait_ms * 1000000u;
	struct hs_error *error;
	bool again;

	do {
		struct descriptor_tables tables;
		struct sharing sharing = { .process = process, .shares = shares_descriptors, .refuse = refuse_sharer };

		error = descriptor_tables_list(process, &tables);
		if (error)
			return error;
		sharing.tids = tables.tids;
		sharing.count = tables.count;
		error = sharing_wait_once(&sharing, deadline, &again);
		descriptor_tables_deinit(&tables);
	} while (!error && again);
	return error;
}
