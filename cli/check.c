// SPDX-License-Identifier: Apache-2.0
#include "lib/check.h"

#include "cli/check_json.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/each_process.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LABEL_WIDTH = 14, FUNCTIONS_WIDTH = 84 };

// "  label          text"; a label of "" goes on with the row above.
static void print_row(const struct options *options, const char *label, const char *format, ...) HS_PRINTF(3, 4);

static void print_row(const struct options *options, const char *label, const char *format, ...)
{
	char text[1024];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	console_print(options, "  %-*s %s\n", LABEL_WIDTH, label, text);
}

static void print_diagnostic(const struct options *options, const char *prefix, const struct hs_diagnostic *diagnostic)
{
	console_print(options, "%s: %s%s%s\n", prefix, diagnostic->message, diagnostic->remedy[0] ? ": " : "",
		      diagnostic->remedy);
}

static void print_tracing(const struct options *options, const struct hs_check_result *result)
{
	const char *allowed = result->may_trace ? "allowed" : "not allowed";

	if (result->tracer)
		print_row(options, "tracing", "%s; traced by process %" PRIu32 " (%s)", allowed, result->tracer,
			  result->tracer_name);
	else
		print_row(options, "tracing", "%s; no tracer attached", allowed);
}

static void print_threads(const struct options *options, const struct hs_check_result *result)
{
	char threads[COUNT_SIZE];

	console_count(result->threads, "thread", threads);
	print_row(options, "threads", "%" PRIu32, result->threads);
	if (result->seccomp_mode == 0)
		print_row(options, "seccomp", "none");
	else
		print_row(options, "seccomp", "%s, in %" PRIu32 " of %s; heapsnap %s suspend it",
			  result->seccomp_mode == 1 ? "strict" : "filter", result->seccomp_threads, threads,
			  result->seccomp_can_suspend ? "can" : "cannot");
	if (result->shadow_stacks)
		print_row(options, "shadow stack", "in %" PRIu32 " of %s", result->shadow_stacks, threads);
	else
		print_row(options, "shadow stack", "none");
	print_row(options, "MDWE", "not visible from outside; attach works with it");
}

static void print_namespaces(const struct options *options, const struct hs_check_result *result)
{
	char differing[128] = "";
	size_t size = 0;
	bool known = false;

	for (size_t i = 0; i < result->namespace_count; i++) {
		known |= result->namespaces[i].answer != HS_NAMESPACE_UNKNOWN;
		if (result->namespaces[i].answer == HS_NAMESPACE_DIFFERS)
			size += (size_t)snprintf(differing + size, sizeof(differing) - size, " %s",
						 result->namespaces[i].name);
	}
	if (!known)
		print_row(options, "namespaces", "unknown");
	else if (size)
		print_row(options, "namespaces", "its own:%s; its id inside is %" PRIu32, differing,
			  result->pid_inside);
	else
		print_row(options, "namespaces", "as heapsnap's");
}

// What would be hooked, in lines of a fixed width.
static void print_functions(const struct options *options, const struct hs_check_result *result, const char *module)
{
	char line[FUNCTIONS_WIDTH + 1] = "";
	size_t size = 0;

	for (size_t i = 0; i < result->function_count; i++) {
		const struct hs_check_function *function = &result->functions[i];

		if (function->module != module || !function->is_hooked || function->is_loader_event)
			continue;
		if (size + 1 + strlen(function->name) > FUNCTIONS_WIDTH) {
			print_row(options, "", "  %s", line);
			size = 0;
		}
		size += (size_t)snprintf(line + size, sizeof(line) - size, "%s%s", size ? " " : "", function->name);
	}
	if (size)
		print_row(options, "", "  %s", line);
}

static void print_allocators(const struct options *options, const struct hs_check_result *result)
{
	char hooks[COUNT_SIZE];

	for (size_t i = 0; i < result->allocator_count; i++) {
		const struct hs_check_allocator *allocator = &result->allocators[i];

		print_row(options, i == 0 ? "allocators" : "", "%s in %s%s: %s", allocator->family, allocator->module,
			  allocator->in_use && result->allocator_count > 1 ? " (gives malloc)" : "",
			  console_count(allocator->hooks, "hook", hooks));
		print_functions(options, result, allocator->module);
	}
	for (size_t i = 0; i < result->function_count; i++) {
		const struct hs_check_function *function = &result->functions[i];

		if (function->is_refused)
			print_row(options, "not hooked", "%s in %s: %s", function->name, function->module,
				  function->reason);
	}
}

static void print_modules(const struct options *options, const struct hs_check_result *result)
{
	const char *libc = result->is_static && strcmp(result->libc, "unknown") == 0 ? "none or unknown" : result->libc;
	char records[32], fixed[32];

	print_row(options, "C library", "%s%s%s%s%s", libc, result->libc_version[0] ? " " : "", result->libc_version,
		  result->is_static ? ", static" : "", result->is_go ? "; a Go program" : "");
	print_allocators(options, result);
	print_row(options, "new libraries", "%s",
		  result->loader_followed ? "will be seen"
		  : result->is_static     ? "none: a static program"
					  : "will not be seen");
	print_row(options, "memory", "up to %s for records, %s for the rest",
		  number_bytes(result->region_bytes, records), number_bytes(result->fixed_bytes, fixed));
}

static void print_limits(const struct options *options, const struct hs_check_limits *limits)
{
	char limit[32], used[32], cache[32];

	if (limits->address_space != UINT64_MAX)
		print_row(options, "ulimit -v", "%s, of which %s is in use", number_bytes(limits->address_space, limit),
			  number_bytes(limits->address_space_used, used));
	if (limits->cgroup_version)
		print_row(options, "memory cgroup", "%s, of which %s is in use, %s of that page cache",
			  number_bytes(limits->cgroup, limit), number_bytes(limits->cgroup_used, used),
			  number_bytes(limits->cgroup_cache, cache));
	if (limits->locked)
		print_row(options, "locked memory", "%s", number_bytes(limits->locked, used));
}

static void print_result(const struct options *options, const struct hs_check_result *result)
{
	if (!result->has_memory)
		return;
	print_row(options, "process", "%d %s%s%s", (int)result->pid, result->name, result->executable ? " " : "",
		  result->executable ? result->executable : "");
	print_tracing(options, result);
	print_threads(options, result);
	print_namespaces(options, result);
	if (result->has_modules)
		print_modules(options, result);
	print_limits(options, &result->limits);
}

static void print_verdict(const struct options *options, const struct hs_check_result *result)
{
	char hooks[COUNT_SIZE], families[COUNT_SIZE], threads[COUNT_SIZE];
	size_t allocators = 0;

	for (size_t i = 0; i < result->diagnostic_count; i++)
		if (!result->diagnostics[i].is_refusal)
			print_diagnostic(options, "warning", &result->diagnostics[i]);
	for (size_t i = 0; i < result->diagnostic_count; i++)
		if (result->diagnostics[i].is_refusal)
			print_diagnostic(options, "attach would refuse", &result->diagnostics[i]);
	if (!result->would_attach)
		return;
	for (size_t i = 0; i < result->allocator_count; i++)
		allocators += result->allocators[i].hooks > 0;
	if (!result->has_modules)
		console_print(options, "attach would clear away what is left, and then look for allocators\n");
	else
		console_print(options, "attach would go ahead: %s in %s, %s\n",
			      console_count(result->hooks, "hook", hooks),
			      console_count(allocators, "allocator", families),
			      console_count(result->threads, "thread", threads));
}

static enum exit_status check_one(const struct options *options, const struct process *process, void *context)
{
	struct hs_attach_options attach = {
		.max_memory = options->max_memory,
		.allocators = { options->allocators, options->allocator_count },
	};
	struct hs_check_result result;
	enum exit_status status;
	struct hs_error *error = hs_check(process, &attach, &result);

	(void)context;
	if (error)
		return console_fail(options, error);
	print_result(options, &result);
	print_verdict(options, &result);
	status = result.would_attach ? EXIT_DONE : EXIT_REFUSED;
	if (options->json && !check_print_json(&result))
		status = EXIT_REFUSED;
	hs_check_result_deinit(&result);
	return status;
}

enum exit_status command_check(const struct options *options) { return each_process(options, check_one, NULL); }
