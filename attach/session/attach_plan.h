// SPDX-License-Identifier: Apache-2.0
// What an attach will do, decided before the freeze: read, decide, touch nothing. `check` shows it, `attach` carries it
// out.
#ifndef HEAPSNAP_ATTACH_SESSION_ATTACH_PLAN_H
#define HEAPSNAP_ATTACH_SESSION_ATTACH_PLAN_H

#include "attach/elf/file_pages.h"
#include "attach/elf/modules.h"
#include "attach/hook/hook_plan.h"
#include "attach/process/code_names.h"
#include "attach/process/diagnostics.h"
#include "attach/process/memory.h"
#include "attach/process/target.h"
#include "attach/region/payload_load.h"
#include "attach/session/session.h"
#include "base/error.h"
#include "base/proc_maps.h"
#include "base/process.h"

struct attach_plan {
	const struct process *process; // borrowed
	struct target_info target;
	struct target_memory memory;
	struct code_names names; // of our memory files there
	struct proc_maps maps;
	struct module_list modules;
	struct file_pages files; // what may be needed of them under the stop
	struct payload_layout layout;
	struct hook_plan hooks;
	struct hook_additions additions; // borrowed from the options
	uint64_t max_memory;             // bytes that the region may use
	uint64_t mapping_limit;          // mapping_room.h
	bool hooks_left; // hooks of an unfinished attach or detach, or of a parent process, may be in place: no others
			 // are planned
	uint32_t depth;
	struct sampling_settings sampling;
	uint64_t sampling_seed; // random
	uint32_t ticks_per_us;  // of the time-stamp counter
};

// Adds to *diagnostics each reason on which an attach would be refused. Without any, the plan is whole; with some, it
// holds what could be learned all the same (the rest is zero). Either way attach_plan_deinit is owed.
void attach_plan_make(const struct process *process, const struct attach_options *options, struct attach_plan *plan,
		      struct diagnostics *diagnostics);

// The part of the plan that the target's mappings decide, once more under a freeze, for a target that loads and unloads
// libraries all the time: it costs milliseconds of standing still. *diagnostics become those of this part. From files
// that were read for earlier plans (file_cache.h): where one is lacking, it fails, and refused_reads_any says so.
struct hs_error *attach_plan_again(struct attach_plan *plan, struct diagnostics *diagnostics) HS_MUST_CHECK;

// Pure: whether, by the mappings that there are now, the ranges that the plan uses are still free and its modules where
// they were.
bool attach_plan_still_holds(const struct attach_plan *plan, const struct proc_maps *now);

struct hook_counts {
	size_t unseen_makers;  // refused ones that make blocks
	size_t hooks, refused; // allocation functions; the loader's event counts among the refused ones only
	bool loader_followed;  // libraries loaded later will be seen
};

// Pure: the planned hooks, counted.
struct hook_counts attach_plan_count(const struct attach_plan *plan);

// Frees what the plan owns, also of one that is not whole; what it borrows (the options) stays.
void attach_plan_deinit(struct attach_plan *plan);

#endif
