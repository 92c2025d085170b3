// SPDX-License-Identifier: Apache-2.0
#include "cli/check_json.h"

#include "base/json.h"
#include "cli/console.h"

static void put_diagnostics(struct json *json, const struct hs_check_result *result)
{
	json_open(json, "diagnostics", '[');
	for (size_t i = 0; i < result->diagnostic_count; i++) {
		const struct hs_diagnostic *diagnostic = &result->diagnostics[i];

		json_open(json, NULL, '{');
		json_string(json, "category", diagnostic->category);
		json_string(json, "verdict", diagnostic->is_refusal ? "refusal" : "warning");
		json_string(json, "message", diagnostic->message);
		json_string(json, "remedy", diagnostic->remedy);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_process(struct json *json, const struct hs_check_result *result)
{
	json_string(json, "name", result->name);
	json_string(json, "executable", result->executable ? result->executable : "");
	json_string(json, "state", (const char[]){ result->state, 0 });
	json_bool(json, "kernel_thread", result->is_kernel_thread);
}

static void put_tracing(struct json *json, const struct hs_check_result *result)
{
	json_open(json, "tracing", '{');
	json_bool(json, "allowed", result->may_open_memory);
	json_string(json, "reason", result->trace_reason);
	json_number(json, "tracer", result->tracer);
	json_string(json, "tracer_name", result->tracer_name);
	if (result->yama_scope >= 0)
		json_number(json, "yama_scope", (uint64_t)result->yama_scope);
	json_close(json, '}');
}

static void put_threads(struct json *json, const struct hs_check_result *result)
{
	static const char *const modes[] = { "none", "strict", "filter" };

	json_number(json, "threads", result->threads);
	json_number(json, "threads_stopped", result->threads_stopped);
	json_number(json, "threads_uninterruptible", result->threads_uninterruptible);
	json_open(json, "seccomp", '{');
	json_string(json, "mode", result->seccomp_mode < 3 ? modes[result->seccomp_mode] : "unknown");
	json_number(json, "threads", result->seccomp_threads);
	json_bool(json, "can_suspend", result->seccomp_mode && result->seccomp_can_suspend);
	json_close(json, '}');
	json_number(json, "shadow_stacks", result->shadow_stacks);
	json_string(json, "mdwe", "unknown");
}

static void put_namespaces(struct json *json, const struct hs_check_result *result)
{
	static const char *const answers[] = { "unknown", "same", "differs" };

	json_open(json, "namespaces", '{');
	for (size_t i = 0; i < result->namespace_count; i++)
		json_string(json, result->namespaces[i].name, answers[result->namespaces[i].answer]);
	json_close(json, '}');
	json_number(json, "pid_inside", result->pid_inside);
}

static void put_memory(struct json *json, const struct hs_check_result *result)
{
	const struct hs_check_limits *limits = &result->limits;

	json_open(json, "memory", '{');
	json_number(json, "region_bytes", result->region_bytes);
	json_number(json, "fixed_bytes", result->fixed_bytes);
	json_number(json, "address_space_bytes", result->address_space_bytes);
	json_close(json, '}');
	json_open(json, "limits", '{');
	json_number(json, "address_space_used", limits->address_space_used);
	if (limits->address_space != UINT64_MAX)
		json_number(json, "address_space", limits->address_space);
	if (limits->cgroup_version) {
		json_number(json, "cgroup_version", limits->cgroup_version);
		json_number(json, "cgroup", limits->cgroup);
		json_number(json, "cgroup_used", limits->cgroup_used);
		json_number(json, "cgroup_cache", limits->cgroup_cache);
	}
	json_number(json, "locked_bytes", limits->locked);
	json_close(json, '}');
}

static void put_allocators(struct json *json, const struct hs_check_result *result)
{
	json_open(json, "allocators", '[');
	for (size_t i = 0; i < result->allocator_count; i++) {
		const struct hs_check_allocator *allocator = &result->allocators[i];

		json_open(json, NULL, '{');
		json_string(json, "family", allocator->family);
		json_string(json, "module", allocator->module);
		json_bool(json, "in_use", allocator->in_use);
		json_number(json, "hooks", allocator->hooks);
		json_number(json, "hooks_refused", allocator->hooks_refused);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_open(json, "functions", '[');
	for (size_t i = 0; i < result->function_count; i++) {
		const struct hs_check_function *function = &result->functions[i];

		json_open(json, NULL, '{');
		json_string(json, "name", function->name);
		json_string(json, "module", function->module);
		json_number(json, "address", function->address);
		json_string(json, "verdict", function->verdict);
		json_string(json, "reason", function->reason);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_modules(struct json *json, const struct hs_check_result *result)
{
	json_number(json, "modules", result->modules);
	json_open(json, "libc", '{');
	json_string(json, "name", result->libc);
	json_string(json, "version", result->libc_version);
	json_bool(json, "static", result->is_static);
	json_bool(json, "go", result->is_go);
	json_close(json, '}');
	put_allocators(json, result);
	json_number(json, "hooks", result->hooks);
	json_number(json, "hooks_refused", result->hooks_refused);
	json_bool(json, "libraries_followed", result->loader_followed);
}

bool check_print_json(const struct hs_check_result *result)
{
	struct json json;

	json_begin(&json, stdout);
	json_string(&json, "command", "check");
	json_number(&json, "pid", (uint64_t)result->pid);
	json_bool(&json, "would_attach", result->would_attach);
	put_diagnostics(&json, result);
	if (result->name)
		put_process(&json, result);
	if (result->has_memory) {
		json_bool(&json, "attached", result->is_attached);
		json_bool(&json, "program_32_bit", result->is_32_bit);
		put_tracing(&json, result);
		put_threads(&json, result);
		put_namespaces(&json, result);
		put_memory(&json, result);
	}
	if (result->has_modules)
		put_modules(&json, result);
	return console_end_json(&json);
}
