// SPDX-License-Identifier: Apache-2.0
#include "lib/check.h"

#include "attach/session/check.h"
#include "inject/abi/region.h"
#include "lib/user_allocators_parse.h"

#include <stdlib.h>

_Static_assert((int)NAMESPACE_COUNT <= (int)HS_CHECK_NAMESPACES_MAX, "all namespaces fit");

// The report as attach/ makes it, which the texts are in, and the lists made of it.
struct check_memory {
	struct check_report report;
	struct hs_diagnostic diagnostics[DIAGNOSTICS_MAX];
	struct hs_check_allocator *allocators;
	struct hs_check_function *functions;
};

void hs_check_result_deinit(struct hs_check_result *result)
{
	struct check_memory *memory = result->owned;

	if (memory) {
		check_report_deinit(&memory->report);
		free(memory->allocators);
		free(memory->functions);
	}
	free(memory);
	*result = (struct hs_check_result){ 0 };
}

static bool is_refused(const struct check_report *report, enum diagnostic_category category)
{
	return diagnostics_verdict(&report->diagnostics, category) == DIAGNOSTIC_REFUSAL;
}

static void describe_diagnostics(struct check_memory *memory, struct hs_check_result *ret)
{
	const struct diagnostics *diagnostics = &memory->report.diagnostics;

	ret->would_attach = !diagnostics_refuse(diagnostics);
	for (size_t i = 0; i < diagnostics->count; i++) {
		const struct diagnostic *diagnostic = &diagnostics->items[i];

		memory->diagnostics[i] = (struct hs_diagnostic){
			.category = diagnostic_category_name(diagnostic->category),
			.is_refusal = diagnostic->verdict == DIAGNOSTIC_REFUSAL,
			.message = diagnostic->message,
			.remedy = diagnostic->remedy,
		};
	}
	ret->diagnostics = memory->diagnostics;
	ret->diagnostic_count = diagnostics->count;
}

static void describe_access(const struct check_report *report, struct hs_check_result *ret)
{
	const struct target_info *target = &report->target;

	ret->is_attached = report->is_attached && report->attached.state == REGION_ATTACHED;
	ret->is_32_bit = target->is_32_bit;
	ret->may_trace = !is_refused(report, CATEGORY_permission);
	ret->may_open_memory = target->access_error == 0;
	ret->trace_reason = target->access_error ? access_verdict_name(access_decide(&target->access)) : "";
	ret->tracer = target->tracer;
	ret->tracer_name = target->tracer_name;
	ret->yama_scope = target->access.yama_scope;
}

static void describe_threads(const struct check_report *report, struct hs_check_result *ret)
{
	const struct thread_facts *threads = &report->target.threads;

	ret->threads = threads->count;
	ret->threads_stopped = threads->stopped;
	ret->threads_uninterruptible = threads->uninterruptible;
	ret->seccomp_mode = threads->seccomp_mode;
	ret->seccomp_threads = threads->filtered;
	ret->seccomp_can_suspend = !is_refused(report, CATEGORY_seccomp);
	ret->shadow_stacks = threads->shadow_stacks;
	for (int i = 0; i < NAMESPACE_COUNT; i++)
		ret->namespaces[ret->namespace_count++] = (struct hs_check_namespace){
			.name = namespace_name((enum namespace_kind)i),
			.answer = report->namespaces[i] == NAMESPACE_SAME      ? HS_NAMESPACE_SAME
				  : report->namespaces[i] == NAMESPACE_DIFFERS ? HS_NAMESPACE_DIFFERS
									       : HS_NAMESPACE_UNKNOWN,
		};
	ret->pid_inside = report->pid_inside;
}

static void describe_memory(const struct check_report *report, struct hs_check_result *ret)
{
	const struct target_info *target = &report->target;

	ret->region_bytes = report->region_bytes;
	ret->fixed_bytes = report->fixed_bytes;
	ret->address_space_bytes = report->address_space_bytes;
	ret->limits = (struct hs_check_limits){
		.address_space = target->address_space_limit,
		.address_space_used = target->address_space_used,
		.cgroup_version = target->group.version,
		.cgroup = target->group.limit,
		.cgroup_used = target->group.used,
		.cgroup_cache = target->group.cache,
		.locked = target->locked_bytes,
	};
}

static struct hs_error *describe_allocators(struct check_memory *memory, struct hs_check_result *ret)
{
	const struct check_report *report = &memory->report;

	memory->allocators = calloc(report->allocator_count + 1, sizeof(*memory->allocators));
	memory->functions = calloc(report->hook_count + 1, sizeof(*memory->functions));
	if (!memory->allocators || !memory->functions)
		return &hs_error_no_memory;
	for (size_t i = 0; i < report->allocator_count; i++) {
		const struct check_allocator *allocator = &report->allocators[i];

		memory->allocators[i] = (struct hs_check_allocator){
			.module = allocator->module,
			.family = allocator->family,
			.in_use = allocator->in_use,
			.hooks = allocator->hooks,
			.hooks_refused = allocator->refused,
		};
	}
	for (size_t i = 0; i < report->hook_count; i++) {
		const struct check_hook *hook = &report->hooks[i];

		memory->functions[i] = (struct hs_check_function){
			.name = hook->function,
			.module = hook->module,
			.address = hook->address,
			.is_hooked = hook->is_ok,
			.is_refused = hook->is_refused,
			.is_loader_event = hook->is_loader_event,
			.verdict = hook->verdict,
			.reason = hook->reason,
		};
	}
	ret->allocators = memory->allocators;
	ret->allocator_count = report->allocator_count;
	ret->functions = memory->functions;
	ret->function_count = report->hook_count;
	return NULL;
}

static void describe_modules(const struct check_report *report, struct hs_check_result *ret)
{
	ret->has_modules = true;
	ret->modules = report->modules;
	ret->libc = report->libc;
	ret->libc_version = report->libc_version;
	ret->is_static = report->is_static;
	ret->is_go = report->is_go;
	ret->hooks = report->hooks_ok;
	ret->hooks_refused = report->hooks_refused;
	ret->loader_followed = report->loader_followed;
}

static struct hs_error *describe(struct check_memory *memory, struct hs_check_result *ret)
{
	const struct check_report *report = &memory->report;

	describe_diagnostics(memory, ret);
	ret->name = report->target.name;
	ret->executable = report->target.executable;
	ret->state = report->target.state;
	ret->is_kernel_thread = report->target.kernel_thread;
	ret->has_memory = report->has_memory;
	if (!report->has_memory)
		return NULL;
	describe_access(report, ret);
	describe_threads(report, ret);
	describe_memory(report, ret);
	if (!report->has_modules)
		return NULL;
	describe_modules(report, ret);
	return describe_allocators(memory, ret);
}

struct hs_error *hs_check(const struct process *process, const struct hs_attach_options *options,
			  struct hs_check_result *ret)
{
	struct hook_addition additions[HS_USER_ALLOCATORS_MAX];
	struct attach_options attach = { .max_memory = options->max_memory };
	struct check_memory *memory;
	struct hs_error *error = user_allocators_parse(&options->allocators, additions, &attach.additions);

	*ret = (struct hs_check_result){ .pid = process->pid };
	if (error)
		return error;
	memory = calloc(1, sizeof(*memory));
	if (!memory)
		return &hs_error_no_memory;
	error = check_process(process, &attach, &memory->report);
	if (error) {
		free(memory);
		return error;
	}
	ret->owned = memory;
	error = describe(memory, ret);
	if (error)
		hs_check_result_deinit(ret);
	return error;
}
