// SPDX-License-Identifier: Apache-2.0
// Attach: check, plan, freeze, load, hook, thaw.
//
// Everything that can be decided is decided before the freeze (files read, hooks planned, code built); under the freeze
// it is only compared with what is there. Each step leaves a state that is safe to abandon: hooks pass straight through
// until the state pages say active, and the journal in the region names every patched byte before it is patched.
#include "attach/session/session.h"

#include "attach/elf/file_cache.h"
#include "attach/elf/program_kind.h"
#include "attach/guard/interrupt.h"
#include "attach/guard/refused_reads.h"
#include "attach/hook/handler_return.h"
#include "attach/hook/hook_apply.h"
#include "attach/process/descriptor_sharers.h"
#include "attach/process/memory_sharers.h"
#include "attach/process/sharing.h"
#include "attach/ptrace/frozen_maps.h"
#include "attach/ptrace/thread_release.h"
#include "attach/ptrace/threads.h"
#include "attach/region/payload_load.h"
#include "attach/region/region_fill.h"
#include "attach/region/state_pages.h"
#include "attach/region/thread_layout.h"
#include "attach/session/attach_plan.h"
#include "attach/session/transaction.h"
#include "base/back_off.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/process.h"

#include <inttypes.h>
#include <link.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

enum { CLEAR_TIMEOUT_MS = 10000, FIRST_WAIT_US = 1000, LONGEST_WAIT_US = 400000 };

static void fill_config(const struct attach_plan *plan, const struct frozen_process *frozen,
			struct payload_config *config)
{
	*config = (struct payload_config){
		.region = plan->layout.region,
		.region_size = plan->layout.region_size,
		.state = plan->layout.state,
		.state_size = HS_STATE_SIZE,
		.code = plan->layout.code,
		.r_debug = plan->modules.r_debug,
	};
	thread_layout_configure(&plan->target, &plan->maps, &plan->modules, &plan->memory, frozen, config);
}

// The clock that the payload reads faults in a process that has it disabled (PR_SET_TSC).
static struct hs_error *check_time_stamp_counter(struct remote_caller *caller)
{
	uint64_t scratch = remote_call_scratch(caller);
	const uint64_t arguments[6] = { PR_GET_TSC, scratch };
	uint64_t result;
	int32_t mode = 0;
	struct hs_error *error = fault_point("check the time-stamp counter");

	if (!error)
		error = remote_call_checked(caller, "prctl(PR_GET_TSC)", SYS_prctl, arguments, &result);
	if (!error)
		error = target_memory_read(caller->memory, scratch, &mode, sizeof(mode));
	if (!error && mode != PR_TSC_ENABLE)
		error = hs_error_create(HS_ERROR_REFUSED,
					"the target has the time-stamp counter disabled (prctl PR_SET_TSC); "
					"the payload reads it");
	return error;
}

static struct hs_error *save_hook(const struct hook_record *hook, size_t index, void *context)
{
	return payload_region_write(context, HS_OFFSET_HOOKS + index * sizeof(*hook), hook, sizeof(*hook));
}

static struct hs_error *write_header_word(const struct loaded_payload *loaded, size_t offset, uint32_t value)
{
	return payload_region_write(loaded, offset, &value, sizeof(value));
}

// The Bloom filter first: all zero it says that no block is recorded, which holds only until hooks are active.
static struct hs_error *start_hooks(const struct attach_plan *plan, const struct region_header *header,
				    pid_t stopped_tid)
{
	struct hs_error *error = fault_point("start the hooks");

	if (!error && !(header->removal_flags & REMOVAL_COUNTS_BLOOM))
		error = state_pages_saturate_bloom(&plan->memory, plan->layout.state, stopped_tid);
	return error ? error : state_pages_activate(&plan->memory, plan->layout.state, stopped_tid);
}

// Caught between "about to delete" and "consistent", the loader may be unmapping a module of the plan: until it says
// that it is done, unwind information of modules that can go is not read (inject/walk/modules.c).
static struct hs_error *note_busy_loader(const struct attach_plan *plan, const struct loaded_payload *loaded)
{
	struct r_debug debug;
	struct hs_error *error;

	if (!plan->modules.r_debug)
		return NULL;
	error = target_memory_read(&plan->memory, plan->modules.r_debug, &debug, sizeof(debug));
	if (!error && debug.r_state != RT_CONSISTENT)
		error = write_header_word(loaded, offsetof(struct region_header, loader_busy), 1);
	return error;
}

// Applies the hooks and starts them. `records` are the journal's, in order.
static struct hs_error *hook_up(struct attach_plan *plan, struct frozen_process *frozen, struct loaded_payload *loaded,
				struct hook_record *records)
{
	pid_t tid = frozen->threads[0].tid;
	struct hs_error *error = note_busy_loader(plan, loaded);

	if (!error)
		error = hook_note_clean_pages(frozen->process, records, plan->hooks.count);
	if (!error)
		error = hook_move_threads(&plan->hooks, frozen);
	for (size_t i = 0; i < plan->hooks.count && !error; i++)
		error = save_hook(&records[i], i, loaded);
	if (!error)
		error = write_header_word(loaded, offsetof(struct stable_header, hook_count),
					  (uint32_t)plan->hooks.count);
	if (!error)
		error = hook_apply(records, plan->hooks.count, &plan->memory, tid, save_hook, loaded);
	if (!error)
		error = start_hooks(plan, loaded->filled, tid);
	if (!error)
		error = write_header_word(loaded, offsetof(struct stable_header, state), REGION_ATTACHED);
	return error;
}

// After it succeeded, nothing leads into the payload and no thread stands in it.
static struct hs_error *unhook(struct attach_plan *plan, struct frozen_process *frozen, struct loaded_payload *loaded,
			       struct hook_record *records)
{
	size_t foreign;
	struct hs_error *error =
		hook_undo(records, plan->hooks.count, &plan->memory, frozen, save_hook, loaded, &foreign);

	if (foreign > 0)
		error = hs_error_join(
			error, hs_error_create(HS_ERROR_REFUSED, "another program is patching the same functions"));
	return hs_error_join(error, hook_move_threads_back(&plan->hooks, frozen));
}

// Back to before. No thread has run meanwhile, so none can be inside but those that were moved there. What cannot be
// unhooked stays mapped: inactive hooks pass straight through, and the journal tells the next attach or detach what to
// finish.
static struct hs_error *roll_back(struct attach_plan *plan, struct frozen_process *frozen,
				  struct loaded_payload *loaded, struct hook_record *records,
				  struct remote_caller *caller)
{
	struct hs_error *error = NULL;

	if (loaded->region_is_there) {
		file_pages_read(&plan->maps, &plan->memory, &plan->modules, records, plan->hooks.count, &plan->files);
		error = unhook(plan, frozen, loaded, records);
		if (error)
			return error;
		error = hook_drop_copies(records, plan->hooks.count, caller);
		if (error)
			return error;
	}
	return payload_unload(caller, loaded);
}

// Under the freeze, with a caller: all of it or nothing.
static struct hs_error *load_and_hook(struct attach_plan *plan, struct frozen_process *frozen,
				      struct remote_caller *caller)
{
	struct loaded_payload loaded = { .own_fd = -1, .target_fd = -1 };
	HS_CLEANUP_FREE struct hook_record *records = calloc(plan->hooks.count + 1, sizeof(*records));
	HS_CLEANUP_FREE uint8_t *code = NULL;
	struct payload_config config;
	struct region_filling filling = {
		.target = &plan->target,
		.modules = &plan->modules,
		.layout = &plan->layout,
		.hooks = &plan->hooks,
		.depth = plan->depth,
		.sampling = plan->sampling,
		.sampling_seed = plan->sampling_seed,
		.ticks_per_us = plan->ticks_per_us,
		.frozen = frozen,
	};
	size_t code_size;
	struct hs_error *error;

	if (!records)
		return &hs_error_no_memory;
	for (size_t i = 0; i < plan->hooks.count; i++)
		records[i] = plan->hooks.hooks[i].record;
	fill_config(plan, frozen, &config);
	error = payload_code_build(&plan->layout, &config, &plan->hooks, &code, &code_size);
	if (!error)
		error = check_time_stamp_counter(caller);
	if (!error)
		error = payload_load(caller, &plan->layout, code, code_size, &plan->hooks, region_fill, &filling,
				     &loaded);
	if (!error)
		error = hook_up(plan, frozen, &loaded, records);
	if (!error) {
		payload_release(&loaded);
		return NULL;
	}
	if (error->code != HS_ERROR_GONE) // a target that died needs no undoing
		error = hs_error_join(error, roll_back(plan, frozen, &loaded, records, caller));
	payload_release(&loaded);
	return error;
}

// Before anything is changed: what will be compared and patched must be in memory.
static struct hs_error *check_hooked_pages(const struct attach_plan *plan)
{
	struct hs_error *error = NULL;

	for (size_t i = 0; i < plan->hooks.count && !error; i++) {
		const struct hook_record *hook = &plan->hooks.hooks[i].record;

		if (hook->verdict == VERDICT_ok)
			error = target_memory_check_present(&plan->memory, hook->address, hook->size);
	}
	return error;
}

// All of the plan is that of the old one: who it is, what it may do, its mappings, what its code relies on.
static struct hs_error *executes_another_program(const struct process *process)
{
	return hs_error_create(HS_ERROR_REFUSED, "process %d has executed another program in the meantime; try again",
			       (int)process->pid);
}

// One try. *retry_ret: true: another try may succeed; nothing was touched.
// Longer than 60 lines: the steps of one try in their order, with one way out.
static struct hs_error *attach_once(struct attach_plan *plan, struct diagnostics *diagnostics,
				    struct attach_report *report, bool *retry_ret)
{
	// Who follows its threads lets none go on meanwhile that it would wait for.
	const unsigned sharers_wait_ms = thread_release_keeps_all() ? 0 : HS_SHARERS_WAIT_MS;
	struct frozen_process frozen;
	struct remote_caller caller;
	const struct proc_maps *now = NULL;
	struct strangers strangers;
	struct hs_error *error;
	size_t threads;

	*retry_ret = false;
	error = fault_point("freeze for the attach");
	if (!error)
		error = memory_sharers_wait(plan->process, sharers_wait_ms);
	if (!error)
		error = descriptor_sharers_wait(plan->process, sharers_wait_ms);
	if (error)
		return error;
	descriptor_strangers_list(plan->process, &strangers);
	error = threads_freeze_memory(&plan->memory, HS_FREEZE_TIMEOUT_MS, &frozen);
	if (error) {
		strangers_deinit(&strangers);
		return error;
	}
	frozen.files = &plan->files;
	threads = frozen.count;
	error = frozen.has_executed ? executes_another_program(plan->process)
				    : memory_sharers_check(frozen.process, frozen.threads[0].tid, &strangers);
	// there is another plan to be made, or a process appeared after the wait; the next try waits for it
	*retry_ret = error && error->code == HS_ERROR_REFUSED;
	if (!error)
		error = thread_layout_check(&plan->memory, &frozen);
	if (!error)
		error = thread_layout_count_unseen(plan->modules.libc, &frozen, &report->unseen_threads);
	if (!error)
		error = fault_point("compare with the plan");
	if (!error)
		error = frozen_maps(&frozen, &now);
	if (!error && !attach_plan_still_holds(plan, now))
		error = attach_plan_again(plan, diagnostics);
	// they were cleared away: another heapsnap has been at work since, and was killed
	if (!error && plan->hooks_left)
		error = hs_error_create(HS_ERROR_REFUSED,
					"process %d has leftovers of an unfinished attach or detach; try again",
					(int)plan->target.pid);
	if (!error) {
		error = handler_return_check(&plan->hooks, &frozen, now, &plan->memory);
		*retry_ret = error && error->code == HS_ERROR_REFUSED; // it will return some day
	}
	if (!error)
		error = check_hooked_pages(plan);
	if (error && refused_reads_any())
		*retry_ret = true; // it is read before the next try
	for (size_t i = 0; i < frozen.count; i++)
		frozen.threads[i].avoid_as_carrier = hook_thread_is_inside(&plan->hooks, &frozen.threads[i]);
	if (!error) {
		error = remote_call_open(&frozen, &plan->memory, &caller);
		if (error && error->code == HS_ERROR_REFUSED)
			*retry_ret = true; // no memory proven free for a frame, a restartable sequence, ...
		if (!error) {
			*retry_ret = caller.carrier->avoid_as_carrier;
			if (!*retry_ret) {
				error = descriptor_sharers_check(frozen.process, caller.carrier->tid, &strangers);
				*retry_ret = error && error->code == HS_ERROR_REFUSED; // the next try waits for it
			}
			if (!*retry_ret && !error)
				error = load_and_hook(plan, &frozen, &caller);
			error = hs_error_join(error, remote_call_close(&caller));
		}
	}
	strangers_deinit(&strangers);
	error = hs_error_join(error, threads_thaw(&frozen));
	report->stopped_all_ns += frozen.stopped_ns;
	report->threads = threads;
	return error;
}

static void report_plan(const struct attach_plan *plan, struct attach_report *report)
{
	struct hook_counts counts = attach_plan_count(plan);

	report->modules = plan->modules.count;
	report->region_bytes = plan->max_memory;
	report->hooks = counts.hooks;
	report->hooks_refused = counts.refused;
	report->unseen_makers = counts.unseen_makers;
	report->loader_followed = counts.loader_followed;
	report->is_static = program_is_static(&plan->modules);
}

static bool is_loud(const struct diagnostic *diagnostic)
{
	return diagnostic->verdict == DIAGNOSTIC_WARNING && diagnostic->category == CATEGORY_unseen;
}

// Whose blocks will not be seen. Once, however often it was tried.
static void warn_of_unseen(const struct diagnostics *diagnostics)
{
	for (size_t i = 0; i < diagnostics->count; i++)
		if (is_loud(&diagnostics->items[i]))
			hs_warn("%s; %s", diagnostics->items[i].message, diagnostics->items[i].remedy);
}

// The reasons that `check` shows, before anything is touched; the first refusal ends it.
static struct hs_error *make_plan(const struct process *process, const struct attach_options *options,
				  struct attach_plan *plan, struct diagnostics *diagnostics)
{
	struct hs_error *error;

	*diagnostics = (struct diagnostics){ 0 };
	attach_plan_make(process, options, plan, diagnostics);
	error = diagnostics_error(diagnostics);
	for (size_t i = 0; i < diagnostics->count; i++)
		if (diagnostics->items[i].verdict == DIAGNOSTIC_WARNING && (error || !is_loud(&diagnostics->items[i])))
			hs_verbose("%s: %s", diagnostics->items[i].message, diagnostics->items[i].remedy);
	if (error)
		attach_plan_deinit(plan);
	return error;
}

static struct hs_error *attach_in_tries(const struct process *process, const struct attach_options *options,
					struct attach_report *ret)
{
	struct back_off wait = { FIRST_WAIT_US, LONGEST_WAIT_US };
	struct diagnostics diagnostics;
	bool retry = false;
	struct hs_error *error;

	for (int try = 0; try < HS_FREEZE_TRIES; try++) {
		struct attach_plan plan;

		error = fault_point("plan");
		if (!error)
			error = make_plan(process, options, &plan, &diagnostics);
		if (error)
			return error;
		error = attach_once(&plan, &diagnostics, ret, &retry);
		if (!error && !retry)
			report_plan(&plan, ret);
		attach_plan_deinit(&plan);
		if (!retry || try == HS_FREEZE_TRIES - 1)
			break;
		hs_verbose("%s; trying again", error ? error->message : "a thread is executing bytes to be patched");
		hs_error_destroy(error);
		back_off_wait(&wait); // on a busy machine a thread may not run for long
	}
	if (error)
		return error;
	if (!retry) {
		warn_of_unseen(&diagnostics);
		return NULL;
	}
	return hs_error_create(
		HS_ERROR_REFUSED,
		"the only usable thread of process %d is always at instructions of its allocator that are to be patched; "
		"try again",
		process->pid);
}

struct hs_error *session_attach(const struct process *process, const struct attach_options *options,
				struct attach_report *ret)
{
	struct transaction transaction;
	struct hs_error *error = transaction_begin(process, WORK_attach, &transaction);

	*ret = (struct attach_report){ 0 };
	if (error)
		return error;
	error = transaction_will_stop(&transaction);
	if (!error)
		error = session_clear_unfinished(process, CLEAR_TIMEOUT_MS, &ret->stopped_all_ns);
	if (!error) {
		file_cache_begin();
		error = attach_in_tries(process, options, ret);
		file_cache_end();
	}
	return transaction_end(&transaction, error);
}
