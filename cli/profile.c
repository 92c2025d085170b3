// SPDX-License-Identifier: Apache-2.0
#include "lib/profile.h"

#include "cli/aftermath.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/detach.h"
#include "cli/dump.h"
#include "cli/each_process.h"
#include "cli/view_text.h"

static void put_more(struct json *json, const void *data)
{
	const struct hs_profile_result *result = data;

	json_number(json, "recorded_ms", result->waited_ns / 1000000);
	json_bool(json, "interrupted", result->is_interrupted);
	json_open(json, "detach", '{');
	detach_put_json(json, &result->detach);
	json_close(json, '}');
}

static enum exit_status show(const struct options *options, pid_t pid, const struct hs_profile_result *result)
{
	const struct dump_more more = { put_more, result };
	char waited[NUMBER_SIZE];
	struct hs_error *error;

	console_print(options, "recorded process %d for %s%s\n", (int)pid, number_duration(result->waited_ns, waited),
		      result->is_interrupted ? ": a signal ended the wait" : "");
	error = dump_show(options, &result->dump, &more);
	if (error)
		return console_fail(options, error);
	detach_print_outcome(options, &result->detach, pid);
	detach_print_checks(options, &result->detach, pid, false);
	return result->detach.is_verified ? EXIT_DONE : EXIT_REFUSED;
}

// `context`: struct dump_setting.
static enum exit_status profile_process(const struct options *options, const struct process *process, void *context)
{
	const struct dump_setting *setting = context;
	const struct hs_profile_options profile = {
		.attach = { .depth = options->depth,
			    .max_memory = options->max_memory,
			    .sampling = options->sampling,
			    .allocators = { options->allocators, options->allocator_count } },
		.dump = { .output = options->output,
			  .format = options->format,
			  .view = setting->view,
			  .blocks = setting->blocks,
			  .errors = options->errors,
			  .stop = options->stop,
			  .no_cache = options->no_cache,
			  .debuginfod = options->debuginfod },
		.time_ns = options->time_ns,
		.detach_wait_ms = DETACH_WAIT_MS,
	};
	struct hs_profile_result result;
	enum exit_status status;
	struct hs_error *error = hs_profile(process, &profile, &result);

	if (error)
		return fail_and_look(options, process, error);
	status = show(options, process->pid, &result);
	hs_profile_result_deinit(&result);
	return status;
}

enum exit_status command_profile(const struct options *options)
{
	struct view_setting setting;
	struct dump_setting dump;
	struct hs_error *error = block_words_selection(options, &dump.blocks);
	enum exit_status status;

	if (!error)
		error = view_setting_init(options, &setting);
	if (error)
		return console_fail(options, error);
	dump.view = setting.options;
	status = each_process(options, profile_process, &dump);
	view_setting_deinit(&setting);
	return status;
}
