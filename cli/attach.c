// SPDX-License-Identifier: Apache-2.0
#include "lib/attach.h"

#include "base/json.h"
#include "base/log.h"
#include "base/process.h"
#include "cli/aftermath.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/unseen_text.h"
#include "lib/find_process.h"

static enum exit_status print_json(const struct hs_attach_result *result, pid_t pid)
{
	struct json json;

	json_begin(&json, stdout);
	json_string(&json, "command", "attach");
	json_number(&json, "pid", (uint64_t)pid);
	json_number(&json, "hooks", result->hooks);
	json_number(&json, "hooks_refused", result->hooks_refused);
	json_number(&json, "unseen_functions", result->unseen_functions);
	json_number(&json, "modules", result->modules);
	json_number(&json, "threads", result->threads);
	json_number(&json, "unseen_threads", result->unseen_threads);
	json_number(&json, "stopped_us", result->stopped_all_ns / 1000);
	json_number(&json, "region_bytes", result->region_bytes);
	json_bool(&json, "libraries_followed", result->loader_followed);
	json_bool(&json, "static", result->is_static);
	return console_end_json(&json) ? EXIT_DONE : EXIT_REFUSED;
}

static void warn_of_unseen(const struct process *process)
{
	struct hs_status status;
	char text[UNSEEN_TEXT_SIZE];
	struct hs_error *error = hs_status_read_later(process, &status);

	if (!error && unseen_text(&status, text))
		hs_warn("%s", text);
	hs_error_destroy(error);
}

static void warn_of_threads(const struct hs_attach_result *result)
{
	if (result->unseen_threads)
		hs_warn("%zu of %zu threads have no thread pointer: nothing that they allocate can be recorded",
			result->unseen_threads, result->threads);
}

static void warn_of_libraries(const struct hs_attach_result *result)
{
	if (!result->loader_followed && !result->is_static)
		hs_warn("libraries loaded from now on will not be seen: no hook for the dynamic loader's list");
}

enum exit_status command_attach(const struct options *options)
{
	struct hs_attach_options attach = {
		.depth = options->depth,
		.max_memory = options->max_memory,
		.sampling = options->sampling,
		.allocators = { options->allocators, options->allocator_count },
	};
	struct hs_attach_result result;
	char stopped[32], memory[32], hooks[COUNT_SIZE], threads[COUNT_SIZE];
	struct hs_error *error;
	HS_CLEANUP_PROCESS struct process process = PROCESS_CLOSED;

	error = hs_find_process(options->pid_text, &process);
	if (error)
		return console_fail(options, error);
	error = hs_attach(&process, &attach, &result);
	if (error)
		return fail_and_look(options, &process, error);
	console_print(options, "attached to %d: %s hooked, %s stopped for %s; region limit %s\n", process.pid,
		      console_count(result.hooks, "function", hooks), console_count(result.threads, "thread", threads),
		      console_time(result.stopped_all_ns, stopped), number_bytes(result.region_bytes, memory));
	if (result.hooks_refused)
		console_print(options, "%s could not be hooked; every dump's ledger says why\n",
			      console_count(result.hooks_refused, "function", hooks));
	if (result.unseen_functions)
		warn_of_unseen(&process);
	warn_of_threads(&result);
	warn_of_libraries(&result);
	return options->json ? print_json(&result, process.pid) : EXIT_DONE;
}
