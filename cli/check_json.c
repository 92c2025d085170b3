// SPDX-License-Identifier: Apache-2.0
#include "cli/check_json.h"

#include "cli/json.h"
#include "inject/abi/region.h"

static void put_diagnostics(struct json *json, const struct diagnostics *diagnostics)
{
	json_open(json, "diagnostics", '[');
	for (size_t i = 0; i < diagnostics->count; i++) {
		const struct diagnostic *diagnostic = &diagnostics->items[i];

		json_open(json, NULL, '{');
		json_string(json, "category", diagnostic_category_name(diagnostic->category));
		json_string(json, "verdict", diagnostic->verdict == DIAGNOSTIC_REFUSAL ? "refusal" : "warning");
		json_string(json, "message", diagnostic->message);
		json_string(json, "remedy", diagnostic->remedy);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_process(struct json *json, const struct check_report *report)
{
	const struct target_info *target = &report->target;

	json_string(json, "name", target->name);
	json_string(json, "executable", target->executable ? target->executable : "");
	json_string(json, "state", (const char[]){ target->state, 0 });
	json_bool(json, "kernel_thread", target->kernel_thread);
}

static void put_tracing(struct json *json, const struct check_report *report)
{
	const struct target_info *target = &report->target;

	json_open(json, "tracing", '{');
	json_bool(json, "allowed", target->access_error == 0);
	json_string(json, "reason", target->access_error ? access_verdict_name(access_decide(&target->access)) : "");
	json_number(json, "tracer", target->tracer);
	json_string(json, "tracer_name", target->tracer_name);
	if (target->access.yama_scope >= 0)
		json_number(json, "yama_scope", (uint64_t)target->access.yama_scope);
	json_close(json, '}');
}

static void put_threads(struct json *json, const struct check_report *report)
{
	const struct thread_facts *threads = &report->target.threads;
	static const char *const modes[] = { "none", "strict", "filter" };

	json_number(json, "threads", threads->count);
	json_number(json, "threads_stopped", threads->stopped);
	json_number(json, "threads_uninterruptible", threads->uninterruptible);
	json_open(json, "seccomp", '{');
	json_string(json, "mode", threads->seccomp_mode < 3 ? modes[threads->seccomp_mode] : "unknown");
	json_number(json, "threads", threads->filtered);
	json_bool(json, "can_suspend",
		  threads->seccomp_mode &&
			  diagnostics_verdict(&report->diagnostics, CATEGORY_seccomp) != DIAGNOSTIC_REFUSAL);
	json_close(json, '}');
	json_number(json, "shadow_stacks", threads->shadow_stacks);
	json_string(json, "mdwe", "unknown");
}

static void put_namespaces(struct json *json, const struct check_report *report)
{
	static const char *const answers[] = { "unknown", "same", "differs" };

	json_open(json, "namespaces", '{');
	for (int i = 0; i < NAMESPACE_COUNT; i++)
		json_string(json, namespace_name((enum namespace_kind)i), answers[report->namespaces[i]]);
	json_close(json, '}');
	json_number(json, "pid_inside", report->pid_inside);
}

static void put_memory(struct json *json, const struct check_report *report)
{
	const struct target_info *target = &report->target;

	json_open(json, "memory", '{');
	json_number(json, "region_bytes", report->region_bytes);
	json_number(json, "fixed_bytes", report->fixed_bytes);
	json_number(json, "address_space_bytes", report->address_space_bytes);
	json_close(json, '}');
	json_open(json, "limits", '{');
	json_number(json, "address_space_used", target->address_space_used);
	if (target->address_space_limit != UINT64_MAX)
		json_number(json, "address_space", target->address_space_limit);
	if (target->group.version) {
		json_number(json, "cgroup_version", target->group.version);
		json_number(json, "cgroup", target->group.limit);
		json_number(json, "cgroup_used", target->group.used);
		json_number(json, "cgroup_cache", target->group.cache);
	}
	json_number(json, "locked_bytes", target->locked_bytes);
	json_close(json, '}');
}

static void put_modules(struct json *json, const struct check_report *report)
{
	json_number(json, "modules", report->modules);
	json_open(json, "libc", '{');
	json_string(json, "name", report->libc);
	json_string(json, "version", report->libc_version);
	json_bool(json, "static", report->is_static);
	json_bool(json, "go", report->is_go);
	json_close(json, '}');
	json_open(json, "allocators", '[');
	for (size_t i = 0; i < report->allocator_count; i++) {
		const struct check_allocator *allocator = &report->allocators[i];

		json_open(json, NULL, '{');
		json_string(json, "family", allocator->family);
		json_string(json, "module", allocator->module);
		json_bool(json, "in_use", allocator->in_use);
		json_number(json, "hooks", allocator->hooks);
		json_number(json, "hooks_refused", allocator->refused);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_open(json, "functions", '[');
	for (size_t i = 0; i < report->hook_count; i++) {
		const struct check_hook *hook = &report->hooks[i];

		json_open(json, NULL, '{');
		json_string(json, "name", hook->function);
		json_string(json, "module", hook->module);
		json_number(json, "address", hook->address);
		json_string(json, "verdict", hook->verdict);
		json_string(json, "reason", hook->reason);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_number(json, "hooks", report->hooks_ok);
	json_number(json, "hooks_refused", report->hooks_refused);
	json_bool(json, "libraries_followed", report->loader_followed);
}

bool check_print_json(const struct check_report *report)
{
	struct json json;

	json_begin(&json, stdout);
	json_string(&json, "command", "check");
	json_number(&json, "pid", (uint64_t)report->pid);
	json_bool(&json, "would_attach", !diagnostics_refuse(&report->diagnostics));
	put_diagnostics(&json, &report->diagnostics);
	if (report->target.name)
		put_process(&json, report);
	if (report->has_memory) {
		json_bool(&json, "attached", report->is_attached && report->attached.state == REGION_ATTACHED);
		json_bool(&json, "program_32_bit", report->target.is_32_bit);
		put_tracing(&json, report);
		put_threads(&json, report);
		put_namespaces(&json, report);
		put_memory(&json, report);
	}
	if (report->has_modules)
		put_modules(&json, report);
	return json_end(&json);
}
