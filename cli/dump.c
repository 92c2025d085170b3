// SPDX-License-Identifier: Apache-2.0
#include "lib/dump.h"

#include "base/json.h"
#include "cli/aftermath.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "lib/find_process.h"

#include <inttypes.h>

enum { SITES_SHOWN = 10 };

// How far an estimate may be off: its standard error, in percent where it is not above the value. It is never 0.
static const char *error_text(int64_t value, uint64_t error, char buffer[32])
{
	double percent = value > 0 ? 100 * (double)error / (double)value : 100;

	if (value <= 0 || percent > 100)
		return console_bytes(error, buffer);
	snprintf(buffer, 32, percent < 0.05 ? "<0.1 %%" : percent < 10 ? "%.1f %%" : "%.0f %%", percent);
	return buffer;
}

static void print_sites(const struct options *options, const struct hs_dump_result *result)
{
	size_t shown = result->site_count < SITES_SHOWN ? result->site_count : SITES_SHOWN;

	console_print(options, "%12s%s %12s  %s\n", "live", result->profile.is_estimate ? "       +-" : "", "blocks",
		      "site");
	for (size_t i = 0; i < shown; i++) {
		const struct hs_dump_site *site = &result->sites[i];

		if (i > 0 && site->live_bytes == 0)
			break;
		char bytes[32], percent[32], error[40] = "", line[32] = "";

		if (site->line > 0)
			snprintf(line, sizeof(line), ":%" PRId64, site->line);
		if (result->profile.is_estimate)
			snprintf(error, sizeof(error), " %8s",
				 error_text(site->live_bytes, site->live_bytes_error, percent));
		console_print(options, "%12s%s %12" PRId64 "  %s%s%s%s\n",
			      console_bytes((uint64_t)site->live_bytes, bytes), error, site->live_objects,
			      site->function, *site->file ? "  " : "", site->file, *site->file ? line : "");
		if (*site->callers)
			console_print(options, "%*s< %s\n", result->profile.is_estimate ? 35 : 26, "", site->callers);
	}
}

// Losses first, each with "LOSS"; of the rest what is not zero. A fact has no number.
static void print_ledger(const struct options *options, const struct heap_profile *profile)
{
	console_print(options, "ledger:\n");
	for (int losses = 1; losses >= 0; losses--) {
		for (size_t i = 0; i < profile->ledger_count; i++) {
			const struct ledger_line *line = &profile->ledger[i];
			char value[32] = "";

			if (!line->value || line->is_loss != (bool)losses)
				continue;
			if (!line->is_fact)
				snprintf(value, sizeof(value), "%" PRIu64, line->value);
			console_print(options, "  %-4s %12s  %s\n", line->is_loss ? "LOSS" : "", value, line->text);
		}
	}
}

// How the snapshot was taken: without stopping a thread, or why not.
static void print_copying(const struct options *options, const struct hs_dump_result *result)
{
	const struct heap_profile *profile = &result->profile;
	char copied[32], stopped[32], records[COUNT_SIZE];

	if (profile->stopped_because)
		console_print(options, "threads stopped for %s: %s\n", console_time(result->stopped_ns, stopped),
			      profile->stopped_because);
	else
		console_print(options, "no pause; copied concurrently in %s, with %s%s\n",
			      console_time(result->copy_ns, copied),
			      console_count(profile->log_records, "log record", records),
			      profile->copies > 1 ? "; the log of a first copy got full" : "");
}

static void print_summary(const struct options *options, const struct hs_dump_result *result)
{
	const struct heap_profile *profile = &result->profile;
	char live[32], allocated[32], file[32], total[32], percent[32], interval[32], count[COUNT_SIZE];

	console_print(options, "%s live in %s, of %s in %" PRId64 " allocated since attach (%.0f s ago)\n",
		      console_bytes((uint64_t)profile->total.live_bytes, live),
		      console_count((size_t)profile->total.live_objects, "block", count),
		      console_bytes((uint64_t)profile->total.alloc_bytes, allocated), profile->total.alloc_objects,
		      (double)profile->duration_ns / 1e9);
	if (profile->is_estimate)
		console_print(options, "estimates: live +- %s (standard error), from %s; now %s%s\n",
			      error_text(profile->total.live_bytes, result->live_bytes_error, percent),
			      console_count(profile->total.live_records, "recorded block", count),
			      profile->is_stopped   ? "nothing new is recorded"
			      : profile->period > 1 ? "one sample every "
						    : "every allocation is recorded",
			      !profile->is_stopped && profile->period > 1
				      ? console_bytes((uint64_t)profile->period, interval)
				      : "");
	print_sites(options, result);
	print_ledger(options, profile);
	print_copying(options, result);
	console_print(options, "%s%s%s, from %s; %s in all\n", options->output[0] == '-' ? "wrote " : options->output,
		      options->output[0] == '-' ? "" : ": ", console_bytes(result->file_bytes, file),
		      console_count(profile->sample_count, "stack", count), console_time(result->total_ns, total));
}

static void print_site_json(struct json *json, const struct hs_dump_site *site)
{
	json_open(json, NULL, '{');
	json_string(json, "function", site->function);
	json_string(json, "file", site->file);
	json_number(json, "line", (uint64_t)site->line);
	json_string(json, "callers", site->callers);
	json_number(json, "live_objects", (uint64_t)site->live_objects);
	json_number(json, "live_bytes", (uint64_t)site->live_bytes);
	json_number(json, "alloc_objects", (uint64_t)site->alloc_objects);
	json_number(json, "alloc_bytes", (uint64_t)site->alloc_bytes);
	json_number(json, "samples", site->live_records);
	json_number(json, "live_objects_error", site->live_objects_error);
	json_number(json, "live_bytes_error", site->live_bytes_error);
	json_close(json, '}');
}

static bool print_json(const struct options *options, const struct hs_dump_result *result)
{
	const struct heap_profile *profile = &result->profile;
	struct json json;

	json_begin(&json, stdout);
	json_string(&json, "command", "dump");
	json_number(&json, "pid", (uint64_t)profile->pid);
	json_string(&json, "output", options->output);
	json_number(&json, "bytes", result->file_bytes);
	json_bool(&json, "stopped", profile->stopped_because);
	json_string(&json, "stopped_because", profile->stopped_because ? profile->stopped_because : "");
	json_number(&json, "stopped_us", result->stopped_ns / 1000);
	json_number(&json, "log_records", profile->log_records);
	json_number(&json, "copies", profile->copies);
	json_number(&json, "copy_us", result->copy_ns / 1000);
	json_number(&json, "symbolize_us", result->symbolize_ns / 1000);
	json_number(&json, "total_us", result->total_ns / 1000);
	json_number(&json, "stacks", profile->sample_count);
	json_number(&json, "live_objects", (uint64_t)profile->total.live_objects);
	json_number(&json, "live_bytes", (uint64_t)profile->total.live_bytes);
	json_number(&json, "alloc_objects", (uint64_t)profile->total.alloc_objects);
	json_number(&json, "alloc_bytes", (uint64_t)profile->total.alloc_bytes);
	json_bool(&json, "estimate", profile->is_estimate);
	json_number(&json, "interval", (uint64_t)profile->period);
	json_number(&json, "samples", profile->total.live_records);
	json_number(&json, "interval_most", (uint64_t)profile->interval_most);
	json_number(&json, "live_objects_error", result->live_objects_error);
	json_number(&json, "live_bytes_error", result->live_bytes_error);
	json_open(&json, "sites", '[');
	for (size_t i = 0; i < result->site_count; i++)
		print_site_json(&json, &result->sites[i]);
	json_close(&json, ']');
	json_open(&json, "ledger", '[');
	for (size_t i = 0; i < profile->ledger_count; i++) {
		json_open(&json, NULL, '{');
		json_string(&json, "name", profile->ledger[i].name);
		json_number(&json, "value", profile->ledger[i].value);
		json_string(&json, "text", profile->ledger[i].text);
		json_bool(&json, "loss", profile->ledger[i].is_loss);
		json_close(&json, '}');
	}
	json_close(&json, ']');
	return json_end(&json);
}

enum exit_status command_dump(const struct options *options)
{
	const struct hs_dump_options dump = {
		.output = options->output,
		.errors = options->errors,
		.stop = options->stop,
	};
	struct hs_dump_result result;
	enum exit_status status = EXIT_DONE;
	HS_CLEANUP_PROCESS struct process process = PROCESS_CLOSED;
	struct hs_error *error = hs_find_process(options->pid_text, &process);

	if (error)
		return console_fail(options, error);
	error = hs_dump(&process, &dump, &result);
	if (error)
		return fail_and_look(options, &process, error);
	print_summary(options, &result);
	if (options->json && !print_json(options, &result))
		status = EXIT_REFUSED;
	hs_dump_result_deinit(&result);
	return status;
}
