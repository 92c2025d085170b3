// SPDX-License-Identifier: Apache-2.0
#include "attach/session/attach_plan.h"

#include "attach/elf/program_kind.h"
#include "attach/guard/own_descriptors.h"
#include "attach/guard/refused_reads.h"
#include "attach/guard/standstill.h"
#include "attach/hook/hook_verdict.h"
#include "attach/process/address_range.h"
#include "attach/process/mapping_room.h"
#include "attach/process/target_judge.h"
#include "attach/ptrace/gadgets.h"
#include "attach/region/region_access.h"
#include "attach/region/region_size.h"
#include "attach/region/region_stable.h"
#include "attach/session/inherited.h"
#include "attach/session/leftovers.h"
#include "base/log.h"
#include "base/process.h"
#include "inject/abi/page.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/random.h>

void attach_plan_deinit(struct attach_plan *plan)
{
	hook_plan_deinit(&plan->hooks);
	modules_deinit(&plan->modules);
	file_pages_deinit(&plan->files);
	proc_maps_deinit(&plan->maps);
	target_memory_close(&plan->memory);
	target_info_deinit(&plan->target);
}

// *state_ret: 0 = there is no region. An error, too, where an attached one is another version's.
static struct hs_error *region_state(const struct process *process, const struct proc_maps *maps, uint32_t *state_ret)
{
	struct region_access access;
	struct hs_error *error;

	*state_ret = 0;
	error = region_open_any(process, maps, &access);
	if (error && error->code == HS_ERROR_NOT_FOUND) {
		hs_error_destroy(error);
		return NULL;
	}
	if (error)
		return hs_error_prefix(error, "process %d has a heapsnap region already", process->pid);
	*state_ret = access.header.stable.state;
	if (*state_ret == REGION_ATTACHED)
		error = region_check_version(&access.header.stable);
	region_close(&access);
	return error ? hs_error_prefix(error, "process %d is already attached", process->pid) : NULL;
}

static void warn_of_leftovers(const struct attach_plan *plan, const char *what, struct diagnostics *diagnostics)
{
	diagnostics_add(diagnostics, CATEGORY_attached, DIAGNOSTIC_WARNING,
			"the next attach or detach clears them away", "process %d has %s", (int)plan->target.pid, what);
}

// What is left of ours where there is no region.
static struct hs_error *judge_leftovers(struct attach_plan *plan, struct diagnostics *diagnostics)
{
	struct inherited inherited;
	// then the names are known, and tables of thousands of descriptors are not looked through
	bool frozen = standstill_is_on();
	struct hs_error *error;

	if (!frozen)
		code_names_read(&plan->memory, &plan->names);
	error = inherited_read(&plan->maps, &plan->memory, &plan->names, &inherited);
	if (error)
		return error;
	plan->hooks_left = inherited_is_hooked(&inherited, &plan->memory);
	if (plan->hooks_left)
		warn_of_leftovers(plan,
				  "hooks that do nothing, inherited from a parent that was attached when it was forked",
				  diagnostics);
	else if (inherited.code_count > 0 || (!frozen && leftovers_exist(&plan->names, &plan->memory, NULL)))
		warn_of_leftovers(plan, "leftovers of an unfinished attach or detach", diagnostics);
	inherited_deinit(&inherited);
	return NULL;
}

// What an earlier run has left. Attach clears it away (session_clear_unfinished) before it plans.
static void judge_attached(struct attach_plan *plan, struct diagnostics *diagnostics)
{
	const pid_t pid = plan->process->pid;
	uint32_t state;
	struct hs_error *error = region_state(plan->process, &plan->maps, &state);

	plan->hooks_left = false;
	if (!error && state == REGION_ATTACHED) {
		error = hs_error_create(HS_ERROR_REFUSED,
					"process %d is already attached; use `heapsnap dump %d -o FILE`, or "
					"`heapsnap detach %d` first",
					pid, pid, pid);
	} else if (!error && state != 0) {
		plan->hooks_left = true;
		warn_of_leftovers(plan, "leftovers of an unfinished attach or detach", diagnostics);
	} else if (!error) {
		error = judge_leftovers(plan, diagnostics);
	}
	diagnostics_add_error(diagnostics, CATEGORY_attached, error);
}

static void judge_runner(const struct attach_plan *plan, struct diagnostics *diagnostics)
{
	const char *program = program_run_by_another(&plan->modules);

	if (program)
		diagnostics_add(
			diagnostics, CATEGORY_program, DIAGNOSTIC_REFUSAL, "run the program by itself",
			"process %d (%s) is %s, which runs %s: hooks in code that it translates or places itself may harm it",
			(int)plan->target.pid, plan->target.name, plan->modules.items[0].path, program);
}

// What these define and ask for is not known; nothing that rests on its absence is concluded
// (linkage_slots_may_ask_for).
static void judge_unread(const struct attach_plan *plan, struct diagnostics *diagnostics)
{
	const struct module_list *modules = &plan->modules;
	char names[700] = "";
	size_t length = 0;

	for (size_t i = 0; i < modules->unread_count && length < sizeof(names) - 1; i++)
		length += (size_t)snprintf(names + length, sizeof(names) - length, "%s%s (%s)", length ? "; " : "",
					   modules->unread[i].path, modules->unread[i].reason);
	if (modules->unread_count > 0)
		diagnostics_add(
			diagnostics, CATEGORY_modules, DIAGNOSTIC_WARNING, "root can mostly read them",
			"%zu of its modules cannot be read; what they allocate by functions of their own will not be "
			"seen, and stacks may end at their frames: %s%s",
			modules->unread_count, names, length >= sizeof(names) ? "..." : "");
}

static void judge_go(const struct attach_plan *plan, struct diagnostics *diagnostics)
{
	for (size_t i = 0; i < plan->modules.count; i++) {
		if (!plan->modules.items[i].is_go)
			continue;
		diagnostics_add(diagnostics, CATEGORY_allocator, DIAGNOSTIC_WARNING,
				"Go's own heap profile shows that (packages runtime/pprof and net/http/pprof)",
				"%s is written in Go; of its memory only what C code in it allocates is seen",
				plan->modules.items[i].path);
		return;
	}
}

// Whose blocks will not be seen though the program may make many by it: said loudly.
static void judge_unseen(const struct attach_plan *plan, struct diagnostics *diagnostics)
{
	char names[512] = "";
	size_t length = 0, count = 0;

	for (size_t i = 0; i < plan->hooks.count; i++) {
		const struct hook_record *hook = &plan->hooks.hooks[i].record;

		if (!hook_makes_unseen((enum hook_kind)hook->kind, (enum hook_verdict)hook->verdict))
			continue;
		count++;
		if (length < sizeof(names) - 1)
			length +=
				(size_t)snprintf(names + length, sizeof(names) - length, "%s%s of %s (%s)",
						 length ? ", " : "", hook->name, plan->modules.items[hook->module].path,
						 hook_verdict_text((enum hook_verdict)hook->verdict));
	}
	if (count > 0)
		diagnostics_add(diagnostics, CATEGORY_unseen, DIAGNOSTIC_WARNING,
				"status and dump say the share of frees affected",
				"blocks of %zu function%s will not be seen, because %s cannot be hooked safely: %s%s",
				count, count == 1 ? "" : "s", count == 1 ? "it" : "they", names,
				length >= sizeof(names) ? "..." : "");
}

// Nothing is found in a process that has ended meanwhile: that is the reason then.
static struct hs_error *unless_gone(const struct process *process, struct hs_error *error)
{
	if (proc_maps_memory(process) != MEMORY_GONE)
		return error;
	hs_error_destroy(error);
	return process_gone(process);
}

// The part of the plan that the target's mappings decide. A reason that the next step needs ends it.
static void plan_places(struct attach_plan *plan, struct diagnostics *diagnostics)
{
	uint64_t region_size = HS_OFFSET_PAGES + page_of(plan->max_memory);
	struct hs_error *error = proc_maps_read(plan->process, &plan->maps);
	uint64_t random = 0;

	if (error) {
		diagnostics_add_error(diagnostics, CATEGORY_process, error);
		return;
	}
	judge_attached(plan, diagnostics);
	// What the code is without the hooks that are left shows only when they are cleared away.
	if (diagnostics_verdict(diagnostics, CATEGORY_attached) == DIAGNOSTIC_REFUSAL || plan->hooks_left ||
	    plan->target.is_32_bit)
		return;
	error = modules_read(plan->process, &plan->maps, &plan->memory, &plan->modules);
	if (!error)
		error = search_tables_make(&plan->memory, &plan->modules);
	if (error) {
		diagnostics_add_error(diagnostics, CATEGORY_modules, error);
		return;
	}
	if (getrandom(&random, sizeof(random), 0) != sizeof(random) ||
	    getrandom(&plan->sampling_seed, sizeof(plan->sampling_seed), 0) != sizeof(plan->sampling_seed))
		error = hs_error_system(errno, "no random numbers");
	if (!error)
		error = payload_layout_choose(&plan->maps, region_size, random, &plan->layout);
	diagnostics_add_error(diagnostics, CATEGORY_memory, error);
	judge_unread(plan, diagnostics);
	judge_runner(plan, diagnostics);
	judge_go(plan, diagnostics);
	error = hook_plan_make(&plan->modules, &plan->maps, &plan->memory, &plan->additions, &plan->layout.goals,
			       diagnostics, &plan->hooks);
	diagnostics_add_error(diagnostics, CATEGORY_allocator, error ? unless_gone(plan->process, error) : NULL);
	diagnostics_add_error(diagnostics, CATEGORY_memory,
			      mapping_room_check(plan->mapping_limit, plan->maps.count, plan->hooks.area_count));
	if (diagnostics_verdict(diagnostics, CATEGORY_allocator) != DIAGNOSTIC_REFUSAL)
		judge_unseen(plan, diagnostics);
	if (plan->modules.r_debug && plan->hooks.count && !attach_plan_count(plan).loader_followed)
		diagnostics_add(
			diagnostics, CATEGORY_loader, DIAGNOSTIC_WARNING, "stacks end at their frames",
			"libraries that process %d loads from now on will not be seen (no hook for the dynamic loader's list)",
			(int)plan->target.pid);
}

// What a dump of this user will do, said before it is too late.
static void judge_copy(const struct attach_plan *plan, struct diagnostics *diagnostics)
{
	if (!region_can_be_opened())
		diagnostics_add(diagnostics, CATEGORY_copy, DIAGNOSTIC_WARNING,
				"`heapsnap dump` as root, or with CAP_CHECKPOINT_RESTORE, lets it run",
				"a dump by this user stops process %d (%s) while it copies", (int)plan->target.pid,
				plan->target.name);
}

// How many threads can surely be followed at one time: those with an extra slot, and those with a slot by their hash,
// of which no more than an eighth is counted on: of so many nearly all have different hashes.
static void judge_thread_count(const struct attach_plan *plan, struct diagnostics *diagnostics)
{
	uint32_t extra = thread_extra_slots_max(plan->max_memory / HS_PAGE_SIZE), room = extra + HS_THREAD_SLOTS / 8;
	char remedy[80] = "no more memory would help: there is no room for more slots";

	if (!plan->max_memory || plan->target.threads.count <= room)
		return;
	if (extra < HS_THREAD_EXTRA_SLOTS)
		snprintf(remedy, sizeof(remedy), "give more --max-memory: %u KiB for each thread",
			 HS_THREAD_EXTRA_PART * HS_SLOT_STRIDE >> 10);
	diagnostics_add(diagnostics, CATEGORY_threads, DIAGNOSTIC_WARNING, remedy,
			"process %d has %zu threads, and some %" PRIu32
			" can be followed: what others allocate will be lost, and counted (lost_no_slot)",
			(int)plan->target.pid, (size_t)plan->target.threads.count, room);
}

struct hs_error *attach_plan_again(struct attach_plan *plan, struct diagnostics *diagnostics)
{
	hs_verbose(
		"the target's mappings changed while the attach was planned; planning again with the process stopped");
	hook_plan_deinit(&plan->hooks);
	modules_deinit(&plan->modules);
	proc_maps_deinit(&plan->maps);
	*diagnostics = (struct diagnostics){ 0 };
	plan_places(plan, diagnostics);
	return refused_reads_any() ? refused_reads_error() : diagnostics_error(diagnostics);
}

void attach_plan_make(const struct process *process, const struct attach_options *options, struct attach_plan *plan,
		      struct diagnostics *diagnostics)
{
	struct hs_error *error;

	*plan = (struct attach_plan){ .process = process,
				      .memory.fd = -1,
				      .additions = options->additions,
				      .depth = options->depth ? options->depth : HS_DEPTH_DEFAULT,
				      .sampling = options->sampling,
				      .ticks_per_us = sampling_measure_ticks(),
				      .mapping_limit = mapping_limit() };
	error = target_read(process, &plan->target);
	if (error) {
		diagnostics_add_error(diagnostics, CATEGORY_process, error);
		return;
	}
	target_judge(&plan->target, diagnostics);
	target_judge_frozen(&plan->target, diagnostics);
	if (diagnostics_verdict(diagnostics, CATEGORY_process) == DIAGNOSTIC_REFUSAL)
		return;
	diagnostics_add_error(diagnostics, CATEGORY_memory,
			      region_size_choose(&plan->target, options->max_memory, &plan->max_memory));
	judge_thread_count(plan, diagnostics);
	judge_copy(plan, diagnostics);
	if (diagnostics_verdict(diagnostics, CATEGORY_permission) == DIAGNOSTIC_REFUSAL)
		return;
	error = target_memory_open(process, &plan->memory);
	if (error)
		diagnostics_add_error(diagnostics, CATEGORY_permission, error);
	if (error)
		return;
	plan_places(plan, diagnostics);
	diagnostics_add_error(diagnostics, CATEGORY_modules, own_descriptors_check(plan->memory.fd));
	gadgets_prepare(&plan->maps, &plan->memory, &plan->files);
}

bool attach_plan_still_holds(const struct attach_plan *plan, const struct proc_maps *now)
{
	struct address_range ranges[HS_ISLAND_AREAS_MAX + 2] = {
		{ plan->layout.code, plan->layout.code_size + HS_PAGE_SIZE },
		{ plan->layout.region, plan->layout.region_size },
	};
	size_t count = 2;

	for (size_t i = 0; i < plan->hooks.area_count; i++)
		ranges[count++] = (struct address_range){ plan->hooks.areas[i].address,
							  plan->hooks.areas[i].pages * HS_PAGE_SIZE };
	for (size_t i = 0; i < count; i++)
		for (size_t m = 0; m < now->count; m++)
			if (ranges[i].address < now->items[m].end &&
			    now->items[m].start < ranges[i].address + ranges[i].size)
				return false;
	return mapping_room_suffices(plan->mapping_limit, now->count, plan->hooks.area_count) &&
	       modules_same_text(&plan->maps, now);
}

struct hook_counts attach_plan_count(const struct attach_plan *plan)
{
	struct hook_counts counts = { .loader_followed = hook_plan_follows_loader(&plan->hooks) };

	for (size_t i = 0; i < plan->hooks.count; i++) {
		const struct hook_record *hook = &plan->hooks.hooks[i].record;

		if (hook->verdict == VERDICT_forwards)
			continue;
		counts.unseen_makers += hook_makes_unseen((enum hook_kind)hook->kind, (enum hook_verdict)hook->verdict);
		if (hook->verdict != VERDICT_ok)
			counts.refused++;
		else
			counts.hooks += hook_kind_is_function((enum hook_kind)hook->kind);
	}
	return counts;
}
