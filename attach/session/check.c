// SPDX-License-Identifier: Apache-2.0
#include "attach/session/check.h"

#include "attach/elf/libc.h"
#include "attach/guard/work_lock.h"
#include "attach/hook/allocator_family.h"
#include "attach/hook/hook_verdict.h"
#include "attach/process/descriptor_sharers.h"
#include "attach/process/memory_sharers.h"
#include "attach/process/thread_ids.h"
#include "attach/session/attach_plan.h"
#include "inject/abi/page.h"
#include "inject/abi/region.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SHARERS_WAIT_MS = 100 };

// What a thread's slot takes at most.
#define SLOT_BYTES ((uint64_t)HS_SLOT_STRIDE - HS_PAGE_SIZE)

void check_report_deinit(struct check_report *report)
{
	for (size_t i = 0; i < report->text_count; i++)
		free(report->texts[i]);
	free(report->texts);
	free(report->hooks);
	free(report->allocators);
	target_info_deinit(&report->target);
	*report = (struct check_report){ 0 };
}

// What is mapped besides the records' pages is sparse; this is what of it can be used.
static uint64_t fixed_bytes(const struct attach_plan *plan)
{
	uint64_t bytes = plan->layout.code_size + HS_STATE_SIZE; // image, state pages

	for (size_t i = 0; i < plan->hooks.area_count; i++)
		bytes += plan->hooks.areas[i].pages * HS_PAGE_SIZE;
	bytes += HS_HEADER_SIZE + page_up(plan->hooks.count * sizeof(struct hook_record)) +
		 page_up(plan->modules.count * sizeof(struct module_record));
	bytes += HS_OFFSET_PAGES - HS_OFFSET_BUCKETS + HS_OFFSET_LOG - HS_OFFSET_RULES; // rules, buckets, root, samples
	return bytes + plan->target.threads.count * SLOT_BYTES;
}

// The modules' paths, by module index, kept in the report.
static struct hs_error *keep_paths(const struct attach_plan *plan, struct check_report *report)
{
	report->texts = calloc(plan->modules.count + 1, sizeof(*report->texts));
	if (!report->texts)
		return &hs_error_no_memory;
	for (; report->text_count < plan->modules.count; report->text_count++) {
		report->texts[report->text_count] = strdup(plan->modules.items[report->text_count].path);
		if (!report->texts[report->text_count])
			return &hs_error_no_memory;
	}
	return NULL;
}

static struct check_allocator *allocator_of(struct check_report *report, const char *module)
{
	for (size_t i = 0; i < report->allocator_count; i++)
		if (report->allocators[i].module == module)
			return &report->allocators[i];
	return NULL;
}

static struct hs_error *describe_hooks(const struct attach_plan *plan, const struct libc_info *libc,
				       struct check_report *report)
{
	size_t count = plan->hooks.count;

	report->hooks = calloc(count + 1, sizeof(*report->hooks));
	report->allocators = calloc(count + 1, sizeof(*report->allocators));
	if (!report->hooks || !report->allocators)
		return &hs_error_no_memory;
	for (size_t i = 0; i < count; i++) {
		const struct hook_record *record = &plan->hooks.hooks[i].record;
		const char *module = report->texts[record->module];
		struct check_allocator *allocator = allocator_of(report, module);
		bool is_ok = record->verdict == VERDICT_ok, is_refused = !is_ok && record->verdict != VERDICT_forwards;

		struct check_hook *hook;

		if (record->kind == HOOK_exit_point)
			continue; // a part of its function's
		hook = &report->hooks[report->hook_count++];
		*hook = (struct check_hook){
			.module = module,
			.address = record->function,
			.is_ok = is_ok,
			.is_refused = is_refused,
			.is_loader_event = record->kind == HOOK_loader_event,
			.verdict = hook_verdict_name((enum hook_verdict)record->verdict),
			.reason = hook_verdict_text((enum hook_verdict)record->verdict),
		};
		snprintf(hook->function, sizeof(hook->function), "%s", record->name);
		if (record->kind == HOOK_loader_event || (!is_ok && !is_refused))
			continue;
		if (!allocator) {
			allocator = &report->allocators[report->allocator_count++];
			*allocator = (struct check_allocator){
				.module = module,
				.family = allocator_family(&plan->modules, record->module, libc),
				.in_use = plan->hooks.used_module == record->module,
			};
		}
		allocator->hooks += is_ok;
		allocator->refused += is_refused;
	}
	if (report->allocator_count == 1)
		report->allocators[0].in_use = true;
	return NULL;
}

static struct hs_error *describe_plan(const struct attach_plan *plan, struct check_report *report)
{
	struct hook_counts counts = attach_plan_count(plan);
	struct libc_info libc;
	struct hs_error *error;

	report->region_bytes = plan->max_memory;
	if (plan->modules.count == 0)
		return NULL;
	report->has_modules = true;
	report->modules = plan->modules.count;
	libc_identify(&plan->modules, &libc);
	report->libc = libc_name(libc.kind);
	memcpy(report->libc_version, libc.version, sizeof(report->libc_version));
	report->is_static = libc.is_static;
	report->is_go = libc.is_go;
	report->hooks_ok = counts.hooks;
	report->hooks_refused = counts.refused;
	report->loader_followed = counts.loader_followed;
	report->fixed_bytes = fixed_bytes(plan);
	report->address_space_bytes = plan->layout.region_size + plan->layout.code_size + HS_PAGE_SIZE;
	error = keep_paths(plan, report);
	if (!error)
		error = describe_hooks(plan, &libc, report);
	return error;
}

static void describe_attached(const struct process *process, struct check_report *report)
{
	struct hs_error *error = attached_examine(process, &report->attached);

	report->is_attached = !error;
	hs_error_destroy(error);
}

// Attach asks for this before the freeze and under it (attach/process/memory_sharers.h, descriptor_sharers.h). A vfork
// child that is about to become another program is given the time to do so.
static void judge_sharers(const struct process *process, struct diagnostics *diagnostics)
{
	struct hs_error *error = memory_sharers_wait(process, SHARERS_WAIT_MS);

	if (!error)
		error = descriptor_sharers_wait(process, SHARERS_WAIT_MS);
	diagnostics_add_error(diagnostics, CATEGORY_memory_sharers, error);
}

static void judge_work(const struct process *process, struct diagnostics *diagnostics)
{
	char text[192];

	if (work_lock_is_taken(process, text, sizeof(text)))
		diagnostics_add(diagnostics, CATEGORY_work, DIAGNOSTIC_REFUSAL, "try again later", "%s", text);
}

struct hs_error *check_process(const struct process *process, const struct attach_options *options,
			       struct check_report *ret)
{
	struct attach_plan plan;
	struct hs_error *error = NULL;

	*ret = (struct check_report){ 0 };
	judge_work(process, &ret->diagnostics);
	attach_plan_make(process, options, &plan, &ret->diagnostics);
	ret->has_memory =
		plan.target.name && diagnostics_verdict(&ret->diagnostics, CATEGORY_process) != DIAGNOSTIC_REFUSAL;
	if (ret->has_memory) {
		if (diagnostics_verdict(&ret->diagnostics, CATEGORY_permission) != DIAGNOSTIC_REFUSAL)
			judge_sharers(process, &ret->diagnostics);
		namespaces_read(process, ret->namespaces);
		ret->pid_inside = thread_id_inside(process, process->pid);
		if (diagnostics_verdict(&ret->diagnostics, CATEGORY_attached) == DIAGNOSTIC_REFUSAL)
			describe_attached(process, ret);
		error = describe_plan(&plan, ret);
	}
	ret->target = plan.target;
	plan.target = (struct target_info){ 0 };
	attach_plan_deinit(&plan);
	if (error)
		check_report_deinit(ret);
	return error;
}
