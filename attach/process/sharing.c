// SPDX-License-Identifier: Apache-2.0
#include "attach/process/sharing.h"

#include "attach/guard/interrupt.h"
#include "attach/guard/task_compare.h"
#include "attach/process/descent.h"
#include "attach/process/thread_descriptor.h"
#include "attach/process/thread_facts.h"
#include "base/clock.h"
#include "base/proc_maps.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum { SHARERS_POLL_US = 5000 };
// Sharers that have been there for less than this, ns, are taken for such as end soon.
#define NEW_SHARERS_NS UINT64_C(500000000)

long sharing_compare_memory(pid_t tid, pid_t other_tid) { return task_compare(tid, other_tid, KCMP_VM); }

// What shares may be any thread: the main thread of another process may have ended, and has nothing then, and each may
// have descriptors of its own.
static bool may_share(const struct process *other, pid_t tid, const void *context)
{
	const struct strangers *strangers = context;
	const long memory = sharing_compare_memory(strangers->tids[0], tid);
	bool may = memory <= 0;

	(void)other;
	if (memory == TASK_COMPARE_LEAVES)
		return false;
	for (size_t i = 0; i < strangers->count && !may; i++)
		may = descriptor_tables_compare(strangers->tids[i], tid) <= 0;
	return may;
}

// Of an answer of kcmp(2). A thread that is gone is no refusal, and none is an answer that did not come in time.
static bool is_refusal_of(long error_number) { return error_number != ESRCH && error_number != ETIMEDOUT; }
static bool is_refusal(long order) { return order < 0 && is_refusal_of(errno); }

static bool is_told(const struct process *other, pid_t tid, const void *context)
{
	const struct strangers *strangers = context;

	(void)other;
	return !is_refusal(sharing_compare_memory(strangers->tids[0], tid)) ||
	       !is_refusal(descriptor_tables_compare(strangers->tids[0], tid));
}

static bool is_apart(const struct process *other, void *context)
{
	const struct strangers *strangers = context;

	// The process itself may be executing a program, and is no stranger then either.
	return other->pid != strangers->pid && sharing_compare_memory(strangers->tids[0], other->pid) > 0 &&
	       !thread_first(other, may_share, strangers);
}

static bool is_untold(const struct process *other, void *context) { return !thread_first(other, is_told, context); }

static bool is_not_known(pid_t pid, void *context)
{
	(void)pid;
	(void)context;
	return false;
}

static bool is_known_to_be_apart(pid_t pid, void *context)
{
	const struct strangers *strangers = context;

	return pid_set_has(&strangers->apart, pid);
}

void strangers_list(const struct process *process, const pid_t *tids, size_t count, struct strangers *ret)
{
	const pid_t first = process_live_thread(process);

	*ret = (struct strangers){ .pid = process->pid, .tids = { first }, .count = 1 };
	for (size_t i = 0; i < count && ret->count < HS_STRANGERS_TABLES_MAX; i++)
		if (tids[i] != first)
			ret->tids[ret->count++] = tids[i];
	task_compare_forget();
	process_set_list(is_not_known, is_apart, ret, &ret->apart);
	// A thread that has ended has no memory, so all would be strangers to it.
	if (thread_is_ending(process, first))
		pid_set_deinit(&ret->apart);
	process_set_list(is_known_to_be_apart, is_untold, ret, &ret->untold);
	ret->knows_ancestors = ancestors_list(&ret->apart, &ret->ancestors);
}

void strangers_deinit(struct strangers *strangers)
{
	pid_set_deinit(&strangers->apart);
	pid_set_deinit(&strangers->untold);
	pid_set_deinit(&strangers->ancestors);
}

bool strangers_know(const struct strangers *strangers, pid_t tid)
{
	for (size_t i = 0; i < strangers->count; i++)
		if (descriptor_table_is_shared(strangers->tids[i], tid))
			return true;
	return false;
}

// Of `untold` only the main thread was asked about. Threads have the credentials of their process (nptl(7)); one that
// gives up its own alone, between the listing and this, is not seen.
static bool is_untold_still(const struct sharing *sharing, pid_t pid)
{
	const pid_t *found = pid_set_find(&sharing->strangers->untold, pid);

	return found && sharing->untold[found - sharing->strangers->untold.pids] < 0 &&
	       is_refusal_of(-sharing->untold[found - sharing->strangers->untold.pids]);
}

// Each number is looked at by this, and there may be ever more of them.
static bool is_stranger(pid_t pid, void *context)
{
	struct sharing *sharing = context;
	const struct strangers *strangers = sharing->strangers;

	if (!sharing->error)
		sharing->error = interrupt_check();
	if (!sharing->error)
		sharing->error = task_compare_check(sharing->process->pid);
	if (sharing->error || !strangers)
		return sharing->error;
	return pid_set_has(&strangers->apart, pid) || is_untold_still(sharing, pid) ||
	       (strangers->knows_ancestors && descent_is_strangers(&sharing->descent, pid));
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
	const struct strangers *strangers = sharing->strangers;
	const size_t untold = strangers ? strangers->untold.count : 0;

	*ret = (struct pid_set){ 0 };
	task_compare_forget();
	sharing->untold = calloc(untold + 1, sizeof(*sharing->untold));
	if (!sharing->untold)
		return &hs_error_no_memory;
	if (untold)
		task_compare_all(sharing->tids[0], strangers->untold.pids, untold, KCMP_VM, sharing->untold);
	if (strangers)
		sharing->descent = (struct descent){ .apart = &strangers->apart, .ancestors = &strangers->ancestors };
	process_set_list(is_stranger, process_shares, sharing, ret);
	descent_deinit(&sharing->descent);
	free(sharing->untold);
	// A process that has ended has neither memory nor descriptors, as kernel threads have no memory: to kcmp(2)
	// these are the same.
	if (!sharing->error && ret->count > 0 && proc_maps_memory(sharing->process) == MEMORY_GONE)
		return process_gone(sharing->process);
	return sharing->error ? sharing->error : task_compare_check(sharing->process->pid);
}

struct hs_error *sharing_check(struct sharing *sharing)
{
	struct pid_set found;
	struct hs_error *error = list_sharers(sharing, &found);

	if (!error && found.count > 0)
		error = sharing->refuse(sharing->process, found.pids[0]);
	pid_set_deinit(&found);
	return error;
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

static struct hs_error *wait_for_sharers(struct sharing *sharing, const struct pid_set *some, uint64_t deadline)
{
	struct hs_error *error = NULL;
	pid_t other;

	while (!error && (other = one_that_shares(sharing, some))) {
		if (proc_maps_memory(sharing->process) == MEMORY_GONE)
			return process_gone(sharing->process);
		if (hs_monotonic_ns() >= deadline)
			return sharing->refuse(sharing->process, other);
		usleep(SHARERS_POLL_US);
		error = interrupt_check();
	}
	return error;
}

struct hs_error *sharing_wait_once(struct sharing *sharing, uint64_t deadline, bool *again_ret)
{
	const uint64_t began = hs_monotonic_ns();
	struct pid_set found;
	struct hs_error *error = list_sharers(sharing, &found);
	uint64_t now;

	if (!error)
		error = wait_for_sharers(sharing, &found, deadline);
	now = hs_monotonic_ns();
	*again_ret = found.count > 0 && now - began >= NEW_SHARERS_NS && now < deadline;
	pid_set_deinit(&found);
	return error;
}
