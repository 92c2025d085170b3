// SPDX-License-Identifier: Apache-2.0
#include "snapshot/snapshot.h"

#include "attach/interrupt.h"
#include "attach/region_access.h"
#include "attach/target.h"
#include "attach/threads.h"
#include "attach/tool_guard.h"
#include "base/clock.h"
#include "base/log.h"
#include "snapshot/aggregate.h"
#include "snapshot/ledger.h"
#include "snapshot/profile_build.h"
#include "snapshot/symbolize.h"
#include "snapshot/table_check.h"
#include "snapshot/table_copy.h"

#include <inttypes.h>
#include <string.h>

enum { FREEZE_TIMEOUT_MS = 2000 };

// What is taken from the process; all later stages work on this alone (symbols read files).
struct raw_snapshot {
	struct table_copy copy;
	struct proc_maps maps;
	uint64_t wall_ns, monotonic_ns;
};

static void raw_deinit(struct raw_snapshot *raw)
{
	table_copy_deinit(&raw->copy);
	proc_maps_deinit(&raw->maps);
}

static struct hs_error *refuse_unfinished(const struct region_access *access)
{
	if (access->header.state == REGION_ATTACHED)
		return NULL;
	return hs_error_create(HS_ERROR_REFUSED, "process %d has the rest of an unfinished attach or detach; `heapsnap detach %d` clears "
			       "it away", access->pid, access->pid);
}

static struct hs_error *take_raw(const struct region_access *access, struct raw_snapshot *raw, struct snapshot_timing *timing)
{
	struct frozen_process process;
	struct hs_error *error = fault_point("freeze for the copy");
	uint64_t began;

	if (!error)
		error = threads_freeze(access->pid, FREEZE_TIMEOUT_MS, &process);
	if (error)
		return error;
	raw->wall_ns = hs_wall_ns();
	raw->monotonic_ns = began = hs_monotonic_ns();
	error = fault_point("copy the table");
	if (!error)
		error = table_copy_take(access, &raw->copy);
	timing->copy_ns = hs_monotonic_ns() - began;
	timing->copied_bytes = raw->copy.copied;
	if (!error)
		error = region_release_slots(access, (const struct thread_slot *)(raw->copy.bytes + HS_OFFSET_SLOTS), &process);
	if (!error)
		error = proc_maps_read(access->pid, &raw->maps);
	error = hs_error_join(error, threads_thaw(&process));
	timing->stopped_ns = process.stopped_ns;
	return error;
}

static struct hs_error *digest(struct raw_snapshot *raw, struct heap_profile *profile, struct snapshot_timing *timing)
{
	struct table_view view;
	struct aggregate totals;
	struct hs_error *error;
	uint64_t began, attached_ns;

	table_view_init(raw->copy.bytes, raw->copy.size, &view);
	attached_ns = table_header(&view)->attach_monotonic_ns;
	hs_progress("adding up", 0, 0);
	error = aggregate_make(&view, &totals);
	if (error)
		return error;
	error = profile_build(&view, &totals, &raw->maps, profile);
	if (!error)
		error = ledger_build(&view, &totals, profile);
	aggregate_deinit(&totals);
	table_copy_deinit(&raw->copy); // large; no longer needed, and not for the processes that read symbols
	if (error)
		return error;
	profile->time_ns = (int64_t)raw->wall_ns;
	profile->duration_ns = (int64_t)(raw->monotonic_ns - attached_ns);
	profile->stopped_ns = timing->stopped_ns;
	error = fault_point("symbolize");
	began = hs_monotonic_ns();
	if (!error)
		error = symbolize_profile(profile);
	timing->symbolize_ns = hs_monotonic_ns() - began;
	return error;
}

struct hs_error *snapshot_take(pid_t pid, struct heap_profile *ret, struct snapshot_timing *timing)
{
	struct target_info target;
	struct region_access access;
	struct raw_snapshot raw = { 0 };
	struct proc_maps maps;
	struct hs_error *error = target_examine(pid, &target);

	*ret = (struct heap_profile){ .pid = pid };
	*timing = (struct snapshot_timing){ 0 };
	if (error)
		return error;
	ret->program = strdup(target.executable ? target.executable : target.name);
	if (target.threads.seccomp_mode)
		error = tool_guard_begin();
	target_info_deinit(&target);
	if (!error)
		error = proc_maps_read(pid, &maps);
	if (error) {
		heap_profile_deinit(ret);
		return error;
	}
	error = region_open(pid, &maps, &access);
	proc_maps_deinit(&maps);
	if (!error) {
		error = refuse_unfinished(&access);
		if (!error)
			error = take_raw(&access, &raw, timing);
		region_close(&access);
		if (!error)
			error = digest(&raw, ret, timing);
		raw_deinit(&raw);
	}
	if (error)
		heap_profile_deinit(ret);
	return error;
}
