// SPDX-License-Identifier: Apache-2.0
#include "lib/profile.h"

#include "base/cleanup.h"
#include "cli/aftermath.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/detach.h"
#include "cli/dump.h"
#include "cli/each_process.h"
#include "cli/peak_text.h"
#include "cli/view_text.h"

static void put_peak(struct json *json, const struct options *options, const struct hs_profile_result *result)
{
	const struct heap_profile *peak = result->peak_is_end ? &result->dump.profile : &result->peak.profile;

	json_open(json, "peak", '{');
	json_string(json, "output", options->at_peak);
	if (result->peak_error) {
		json_string(json, "error", result->peak_error->message);
		json_close(json, '}');
		return;
	}
	json_number(json, "bytes", result->peak_bytes);
	json_number(json, "looks", result->looks);
	json_number(json, "missed_looks", result->missed);
	json_bool(json, "is_end", result->peak_is_end);
	json_integer(json, "duration_ns", peak->duration_ns);
	json_integer(json, "live_objects", peak->total.live_objects);
	json_integer(json, "live_bytes", peak->total.live_bytes);
	json_close(json, '}');
}

struct more {
	const struct options *options;
	const struct hs_profile_result *result;
};

static void put_more(struct json *json, const void *data)
{
	const struct more *more = data;
	const struct hs_profile_result *result = more->result;

	json_number(json, "recorded_ms", result->waited_ns / 1000000);
	json_bool(json, "interrupted", result->is_interrupted);
	json_open(json, "detach", '{');
	detach_put_json(json, &result->detach);
	json_close(json, '}');
	if (result->has_peak || result->peak_error)
		put_peak(json, more->options, result);
}

static struct hs_error *show_peak(const struct options *options, const struct hs_profile_result *result)
{
	const struct peak_file file = { options->at_peak, result->peak_bytes, result->looks, result->missed };

	if (!result->has_peak)
		return NULL;
	if (!result->peak_is_end)
		return peak_print(options, &result->peak, &file);
	peak_print_end(options, &file);
	return NULL;
}

static enum exit_status show(const struct options *options, pid_t pid, const struct hs_profile_result *result)
{
	const struct dump_more more = { put_more, &(struct more){ options, result } };
	char waited[NUMBER_SIZE];
	struct hs_error *error;

	console_print(options, "recorded process %d for %s%s\n", (int)pid, number_duration(result->waited_ns, waited),
		      result->is_interrupted ? ": a signal ended the wait" : "");
	error = dump_show(options, &result->dump, &more);
	error = hs_error_join(error, show_peak(options, result));
	if (error)
		return console_fail(options, error);
	detach_print_outcome(options, &result->detach, pid);
	detach_print_checks(options, &result->detach, pid, false);
	if (result->peak_error)
		console_complain("%s\n", result->peak_error->message);
	return result->detach.is_verified && !result->peak_error ? EXIT_DONE : EXIT_REFUSED;
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
		.peak_output = options->at_peak,
		.detach_wait_ms = DETACH_WAIT_MS,
	};
	struct hs_profile_result result;
	enum exit_status status;
	struct hs_error *error = hs_profile(process, &profile, &result);

	if (error) {
		error = hs_error_join(error, show_peak(options, &result));
		error = hs_error_join(error, HS_STEAL_POINTER(result.peak_error));
	}
	status = error ? fail_and_look(options, process, error) : show(options, process->pid, &result);
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
