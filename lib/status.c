// SPDX-License-Identifier: Apache-2.0
#include "lib/status.h"

#include "attach/session/attached_list.h"
#include "base/cleanup.h"
#include "inject/abi/region.h"
#include "lib/sampling_convert.h"
#include "snapshot/process_memory.h"
#include "snapshot/profile/unseen_share.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

_Static_assert(sizeof(((struct hs_status *)0)->unseen_share) >= UNSEEN_SHARE_SIZE, "the text fits");

static enum hs_state state_of(const struct attached_process *process)
{
	if (process->has_leftovers)
		return HS_STATE_LEFTOVERS;
	if (process->has_idle_hooks)
		return HS_STATE_IDLE_HOOKS;
	switch (process->state) {
	case REGION_ATTACHED:
		return HS_STATE_ATTACHED;
	case REGION_ATTACHING:
		return HS_STATE_ATTACH_UNFINISHED;
	case REGION_DETACHING:
		return HS_STATE_DETACH_UNFINISHED;
	default:
		return HS_STATE_UNREADABLE;
	}
}

static void describe(const struct attached_process *process, struct hs_status *ret)
{
	*ret = (struct hs_status){
		.pid = process->pid,
		.state = state_of(process),
		.attached_wall_ns = process->attached_wall_ns,
		.hooks = process->hooks,
		.hooks_refused = process->hooks_refused,
		.unseen_functions = process->unseen_makers,
		.counts_untracked = process->counts_untracked,
		.threads = process->threads,
		.modules = process->modules,
		.lost_no_thread_pointer = process->lost_no_thread_pointer,
		.used_bytes = process->used_pages * HS_PAGE_SIZE,
		.max_bytes = process->max_pages * HS_PAGE_SIZE,
		.thread_slots_used = process->thread_slots,
		.thread_slots = process->max_thread_slots,
		.has_settings = process->has_settings,
		.sampling = sampling_from_region(&process->sampling),
		.depth = process->depth,
		.settings_wall_ns = process->settings_wall_ns,
		.interval_least = process->costs.interval_least,
		.interval_most = process->costs.interval_most,
		.threads_measured = process->costs.threads,
		.cost_most = process->costs.cost_most,
		.downsampled_to = process->costs.downsampled_to,
		.is_downsampling = process->costs.is_downsampling,
		.frees = process->costs.frees,
		.unknown_frees = process->costs.unknown_frees,
	};
	snprintf(ret->name, sizeof(ret->name), "%s", process->name);
	snprintf(ret->reason, sizeof(ret->reason), "%s", process->reason);
	if (process->unseen_makers)
		unseen_share(process->counts_untracked, process->costs.unknown_frees, process->costs.frees,
			     ret->unseen_share);
}

struct hs_error *hs_status_read(const struct process *process, struct hs_status *ret, bool *may_still_come_ret)
{
	struct attached_process attached;
	struct hs_error *error = attached_examine(process, &attached);

	if (may_still_come_ret)
		*may_still_come_ret = error && attached.late.tid;
	if (!error) {
		describe(&attached, ret);
		ret->memory = process_memory_read(process);
	}
	return error;
}

struct hs_error *hs_status_read_later(const struct process *process, struct hs_status *ret)
{
	enum { WAIT_US = 300000 }; // time for a busy program to free something

	usleep(WAIT_US);
	return hs_status_read(process, ret, NULL);
}

static void describe_listed(const struct attached_process *attached, struct hs_status *ret)
{
	HS_CLEANUP_PROCESS struct process process = PROCESS_CLOSED;
	struct hs_error *error = process_glance(attached->pid, &process);

	describe(attached, ret);
	if (!error)
		ret->memory = process_memory_read(&process);
	hs_error_destroy(error);
}

struct hs_error *hs_status_list(struct hs_status **list_ret, size_t *count_ret, size_t *hidden_ret, bool *unlisted_ret)
{
	struct attached_process *processes;
	struct hs_error *error = attached_list(&processes, count_ret, hidden_ret);

	if (error)
		return error;
	*unlisted_ret = processes_are_unlisted();
	*list_ret = calloc(*count_ret + 1, sizeof(**list_ret));
	for (size_t i = 0; *list_ret && i < *count_ret; i++)
		describe_listed(&processes[i], &(*list_ret)[i]);
	free(processes);
	return *list_ret ? NULL : &hs_error_no_memory;
}
