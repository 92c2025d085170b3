// SPDX-License-Identifier: Apache-2.0
#include "attach/session/check.h"

#include "cli/check_json.h"
#include "cli/commands.h"
#include "cli/console.h"

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

static void print_diagnostic(const struct options *options, const char *prefix, const struct diagnostic *diagnostic)
{
	console_print(options, "%s: %s%s%s\n", prefix, diagnostic->message, diagnostic->remedy[0] ? ": " : "",
		      diagnostic->remedy);
}

static bool refused_on(const struct check_report *report, enum diagnostic_category category)
{
	return diagnostics_verdict(&report->diagnostics, category) == DIAGNOSTIC_REFUSAL;
}

static void print_tracing(const struct options *options, const struct check_report *report)
{
	const struct target_info *target = &report->target;
	const char *allowed = refused_on(report, CATEGORY_permission) ? "not allowed" : "allowed";

	if (target->tracer)
		print_row(options, "tracing", "%s; traced by process %" PRIu32 " (%s)", allowed, target->tracer,
			  target->tracer_name);
	else
		print_row(options, "tracing", "%s; traced by nobody", allowed);
}

static void print_threads(const struct options *options, const struct check_report *report)
{
	const struct thread_facts *threads = &report->target.threads;

	print_row(options, "threads", "%" PRIu32, threads->count);
	if (threads->seccomp_mode == 0)
		print_row(options, "seccomp", "none");
	else
		print_row(options, "seccomp", "%s, in %" PRIu32 " of %" PRIu32 " threads; heapsnap %s suspend it",
			  threads->seccomp_mode == 1 ? "strict" : "filter", threads->filtered, threads->count,
			  refused_on(report, CATEGORY_seccomp) ? "cannot" : "can");
	if (threads->shadow_stacks)
		print_row(options, "shadow stack", "in %" PRIu32 " of %" PRIu32 " threads", threads->shadow_stacks,
			  threads->count);
	else
		print_row(options, "shadow stack", "none");
	print_row(options, "MDWE", "cannot be seen from outside; attach works under it");
}

static void print_namespaces(const struct options *options, const struct check_report *report)
{
	char differing[128] = "";
	size_t size = 0;
	bool known = false;

	for (int i = 0; i < NAMESPACE_COUNT; i++) {
		known |= report->namespaces[i] != NAMESPACE_UNKNOWN;
		if (report->namespaces[i] == NAMESPACE_DIFFERS)
			size += (size_t)snprintf(differing + size, sizeof(differing) - size, " %s",
						 namespace_name((enum namespace_kind)i));
	}
	if (!known)
		print_row(options, "namespaces", "unknown");
	else if (size)
		print_row(options, "namespaces", "its own:%s; its id inside is %" PRIu32, differing,
			  report->pid_inside);
	else
		print_row(options, "namespaces", "as heapsnap's");
}

// What would be hooked, in lines of a fixed width.
static void print_functions(const struct options *options, const struct check_report *report, const char *module)
{
	char line[FUNCTIONS_WIDTH + 1] = "";
	size_t size = 0;

	for (size_t i = 0; i < report->hook_count; i++) {
		const struct check_hook *hook = &report->hooks[i];

		if (hook->module != module || !hook->is_ok || hook->is_loader_event)
			continue;
		if (size + 1 + strlen(hook->function) > FUNCTIONS_WIDTH) {
			print_row(options, "", "  %s", line);
			size = 0;
		}
		size += (size_t)snprintf(line + size, sizeof(line) - size, "%s%s", size ? " " : "", hook->function);
	}
	if (size)
		print_row(options, "", "  %s", line);
}

static void print_allocators(const struct options *options, const struct check_report *report)
{
	for (size_t i = 0; i < report->allocator_count; i++) {
		const struct check_allocator *allocator = &report->allocators[i];

		print_row(options, i == 0 ? "allocators" : "", "%s in %s%s: %zu hooks", allocator->family,
			  allocator->module, allocator->in_use && report->allocator_count > 1 ? " (gives malloc)" : "",
			  allocator->hooks);
		print_functions(options, report, allocator->module);
	}
	for (size_t i = 0; i < report->hook_count; i++) {
		const struct check_hook *hook = &report->hooks[i];

		if (hook->is_refused)
			print_row(options, "not hooked", "%s in %s: %s", hook->function, hook->module, hook->reason);
	}
}

static void print_modules(const struct options *options, const struct check_report *report)
{
	char records[32], fixed[32];

	print_row(options, "C library", "%s%s%s%s%s", report->libc, report->libc_version[0] ? " " : "",
		  report->libc_version, report->is_static ? ", static" : "", report->is_go ? "; a Go program" : "");
	print_allocators(options, report);
	print_row(options, "new libraries", "%s",
		  report->loader_followed ? "will be seen"
		  : report->is_static     ? "none: a static program"
					  : "will not be seen");
	print_row(options, "memory", "up to %s for records, %s for the rest",
		  console_bytes(report->region_bytes, records), console_bytes(report->fixed_bytes, fixed));
}

static void print_limits(const struct options *options, const struct target_info *target)
{
	char limit[32], used[32], cache[32];

	if (target->address_space_limit != UINT64_MAX)
		print_row(options, "ulimit -v", "%s, of which %s are taken",
			  console_bytes(target->address_space_limit, limit),
			  console_bytes(target->address_space_used, used));
	if (target->group.version)
		print_row(options, "memory cgroup", "%s, of which %s are taken, %s of that by old page cache",
			  console_bytes(target->group.limit, limit), console_bytes(target->group.used, used),
			  console_bytes(target->group.cache, cache));
	if (target->locked_bytes)
		print_row(options, "locked memory", "%s", console_bytes(target->locked_bytes, used));
}

static void print_report(const struct options *options, const struct check_report *report)
{
	const struct target_info *target = &report->target;

	if (!report->has_memory)
		return;
	print_row(options, "process", "%d %s%s%s", (int)report->pid, target->name, target->executable ? " " : "",
		  target->executable ? target->executable : "");
	print_tracing(options, report);
	print_threads(options, report);
	print_namespaces(options, report);
	if (report->has_modules)
		print_modules(options, report);
	print_limits(options, target);
}

static void print_verdict(const struct options *options, const struct check_report *report)
{
	size_t allocators = 0;

	for (size_t i = 0; i < report->diagnostics.count; i++)
		if (report->diagnostics.items[i].verdict == DIAGNOSTIC_WARNING)
			print_diagnostic(options, "warning", &report->diagnostics.items[i]);
	for (size_t i = 0; i < report->diagnostics.count; i++)
		if (report->diagnostics.items[i].verdict == DIAGNOSTIC_REFUSAL)
			print_diagnostic(options, "attach would refuse", &report->diagnostics.items[i]);
	if (diagnostics_refuse(&report->diagnostics))
		return;
	for (size_t i = 0; i < report->allocator_count; i++)
		allocators += report->allocators[i].hooks > 0;
	if (!report->has_modules)
		console_print(options, "attach would clear away what is left, and then look for allocators\n");
	else
		console_print(options, "attach would go ahead: %zu hooks in %zu allocator%s, %" PRIu32 " thread%s\n",
			      report->hooks_ok, allocators, allocators == 1 ? "" : "s", report->target.threads.count,
			      report->target.threads.count == 1 ? "" : "s");
}

enum exit_status command_check(const struct options *options)
{
	struct attach_options attach = {
		.max_memory = options->max_memory,
		.additions = { options->additions, options->addition_count },
	};
	struct check_report report;
	enum exit_status status;
	struct hs_error *error;
	pid_t pid;

	error = target_parse_pid(options->pid_text, &pid);
	if (!error)
		error = check_process(pid, &attach, &report);
	if (error)
		return console_fail(options, error);
	print_report(options, &report);
	print_verdict(options, &report);
	status = diagnostics_refuse(&report.diagnostics) ? EXIT_REFUSED : EXIT_DONE;
	if (options->json && !check_print_json(&report))
		status = EXIT_REFUSED;
	check_report_deinit(&report);
	return status;
}
