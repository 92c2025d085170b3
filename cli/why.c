// SPDX-License-Identifier: Apache-2.0
#include "lib/watch.h"

#include "cli/aftermath.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/detach.h"
#include "cli/each_process.h"
#include "cli/headline.h"
#include "cli/site_rows.h"
#include "cli/why_json.h"
#include "lib/own_rules.h"
#include "views/other_heaps.h"

#include <math.h>
#include <string.h>

#define FOR_DEFAULT UINT64_C(60000000000) // ns

enum { UNSURE_ROWS = 3, TEMPORARY_ROWS = 3, COHORTS_SHOWN = 6 };

static void print_head(const struct options *options, const struct hs_watch_result *result)
{
	static const char *const ends[] = { [HS_WATCH_COMPLETE] = "",
					    [HS_WATCH_INTERRUPTED] = " (a signal ended it)",
					    [HS_WATCH_PROCESS_ENDED] = " (then it ended)",
					    [HS_WATCH_PROCESS_LEFT] =
						    " (then it executed another program, or was detached from)" };
	const struct growth *growth = &result->growth;
	const bool has_two = growth->cuts > 1;
	char duration[NUMBER_SIZE], watched[NUMBER_SIZE + 6] = "", anonymous[NUMBER_SIZE], gained[NUMBER_SIZE],
							  memory[100] = "";

	if (growth->memory_is_known)
		snprintf(memory, sizeof(memory), ": anonymous memory %s%s%s%s",
			 number_bytes((uint64_t)number_whole(growth->anonymous.last), anonymous), has_two ? ", " : "",
			 has_two ? number_bytes_signed(number_whole(growth->anonymous.gained), gained) : "",
			 has_two ? " since the first" : "");
	if (has_two)
		snprintf(watched, sizeof(watched), " for %s",
			 number_duration((uint64_t)number_whole(growth->seconds * 1e9), duration));
	console_print(options, "Process %d watched%s in %zu snapshot%s%s%s\n", (int)result->profile.pid, watched,
		      growth->cuts, has_two ? "s" : "", ends[result->end], memory);
}

static void print_verdict(const struct options *options, const struct verdict *verdict)
{
	for (size_t i = 0; i < verdict->count; i++) {
		console_print(options, "%s\n", verdict->findings[i].text);
		for (size_t k = 0; k < verdict->findings[i].reason_count; k++)
			console_print(options, "  - %s\n", verdict->findings[i].reasons[k]);
	}
}

// Sites as they are ordered in struct growth: each kind of them has a heading.
static const char *heading_of(const struct hs_watch_result *result, const struct growth_site *site)
{
	const bool is_exchange = result->verdict.findings[0].kind == VERDICT_EXCHANGE;

	return site->grows || site->in_steps ? is_exchange
						       ? "Sites whose recorded blocks grow, and the process does not:"
						       : "Sites whose recorded blocks grow:"
	       : site->live.levels_off       ? "Sites that have grown, and do not any more:"
					     : "Sites that may grow; too little or too uneven to say:";
}

// "10-20 s", "1.5-3.0 s", "10.0-12.5 min": a part of the watch.
static const char *part_text(const struct growth *growth, double from, double to, char *buffer)
{
	enum { CLOSE = 20, MINUTES = 600, HOURS = 36000 }; // seconds of the watch
	const double unit = growth->seconds > HOURS ? 3600 : growth->seconds > MINUTES ? 60 : 1;
	const int digits = unit > 1 || growth->seconds <= CLOSE;

	snprintf(buffer, 2 * NUMBER_SIZE, "%.*f-%.*f %s", digits, from / unit, digits, to / unit,
		 growth->seconds > HOURS     ? "h"
		 : growth->seconds > MINUTES ? "min"
					     : "s");
	return buffer;
}

// How much is live of what was born in each part of the watch: what stays is in all parts, what lives for a while in
// the youngest. Nothing is said where all stays: then it is what the site grows by; nor of one block that is replaced.
static void print_cohorts(const struct options *options, const struct growth *growth, const struct growth_site *site)
{
	const size_t cohorts = growth->cuts - 1, parts = cohorts < COHORTS_SHOWN ? cohorts : COHORTS_SHOWN;
	char text[COHORTS_SHOWN * (4 * NUMBER_SIZE + 20)] = "", time[2 * NUMBER_SIZE], number[NUMBER_SIZE],
						     error[NUMBER_SIZE];
	size_t length = 0;
	double to = 0;

	if (!site->cohorts || site->in_steps || (site->survived_share >= 1 && !site->keeps))
		return;
	for (size_t part = 0; part < parts; part++) {
		const double from = to;
		double bytes = 0, variance = 0;

		for (size_t i = part * cohorts / parts + 1; i <= (part + 1) * cohorts / parts; i++) {
			bytes += site->cohorts[i].bytes;
			variance += site->cohorts[i].error * site->cohorts[i].error;
			to = site->cohorts[i].to;
		}
		length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s %s", length ? ", " : "",
					   part_text(growth, from, to, time),
					   number_bytes((uint64_t)number_whole(bytes), number));
		if (growth->is_estimate)
			length += (size_t)snprintf(
				text + length, sizeof(text) - length, " (±%s)",
				number_error(number_whole(bytes), (uint64_t)number_whole(ceil(sqrt(variance))), error));
	}
	console_print(options, "        still live, by when it was allocated: %s\n", text);
}

// "; of what was live half-way, 99 % stays"
static void write_survived(const struct growth *growth, const struct growth_site *site, char *text, size_t room)
{
	const bool is_bound = site->survival.kind == SURVIVAL_UNKNOWN;

	*text = 0;
	if (site->survived_share >= 1)
		snprintf(text, room, "; all that was live half-way stays");
	else if (site->survived_share >= 0.01)
		snprintf(text, room, "; of what was live half-way, %s%.0f %%%s stays",
			 !is_bound && growth->is_estimate ? "about " : "", floor(100 * site->survived_share),
			 is_bound ? " at least" : "");
}

static struct hs_error *print_growing(const struct options *options, const struct hs_watch_result *result,
				      const struct growth_site *site)
{
	const struct named_profile *named = &result->view.named;
	char rate[NUMBER_SIZE], error_text[NUMBER_SIZE], live[NUMBER_SIZE], blocks[NUMBER_SIZE],
		a_second[NUMBER_SIZE + 4], plus_minus[NUMBER_SIZE + 4] = "", survived[80], state[240];
	const char *const row[] = { a_second, plus_minus };
	const struct table_text text = site_row_text(named, site->site);
	struct table table = { .options = options };
	struct hs_error *error;

	table_column(&table, "", 13);
	table_column(&table, "", -9);
	snprintf(a_second, sizeof(a_second), "%s/s", number_bytes_signed(number_whole(site->speed), rate));
	// What does not rise steadily has no rate, and so no error of one.
	if (site->grows)
		snprintf(plus_minus, sizeof(plus_minus), "±%s",
			 number_error(number_whole(site->speed), (uint64_t)number_whole(ceil(site->speed_error)),
				      error_text));
	error = table_row(&table, row, 0, &text);
	if (error)
		return error;
	write_survived(&result->growth, site, survived, sizeof(survived));
	snprintf(state, sizeof(state), "%s live in %s block%s%s%s",
		 number_bytes((uint64_t)number_whole(site->live.last), live),
		 number_short((uint64_t)number_whole(site->blocks_last), blocks), site->blocks_last == 1 ? "" : "s",
		 survived, site->in_steps ? ", in steps" : "");
	console_print(options, "        %s\n", state);
	print_cohorts(options, &result->growth, site);
	return site_path_print(options, named, site->site);
}

// Sites that grow or have grown; where these are few, those too that may have.
static struct hs_error *print_sites(const struct options *options, const struct hs_watch_result *result)
{
	const struct growth *growth = &result->growth;
	const char *before = "", *heading;
	struct hs_error *error = NULL;

	for (size_t i = 0; i < growth->count && i < options->limit && !error; i++) {
		const struct growth_site *site = &growth->sites[i];
		const bool is_sure = site->grows || site->in_steps || site->live.levels_off;

		if (!is_sure && (i >= UNSURE_ROWS || site->speed < 1))
			break;
		heading = heading_of(result, site);
		if (strcmp(heading, before) != 0)
			console_print(options, "%s\n", heading);
		before = heading;
		error = print_growing(options, result, site);
	}
	return error;
}

// Bytes that were freed without any block less: blocks were made larger, or smaller.
static void write_blocks_rate(double rate, char *text, size_t room)
{
	enum { FEW = 10 };
	char blocks[NUMBER_SIZE];

	if (rate <= 0)
		text[0] = 0; // fewer than the estimates' error
	else if (rate < 0.05)
		snprintf(text, room, "<0.1 blocks/s");
	else if (rate < FEW - 0.05)
		snprintf(text, room, "%.1f blocks/s", rate);
	else
		snprintf(text, room, "%s blocks/s", number_short((uint64_t)number_whole(rate), blocks));
}

static struct hs_error *print_temporary_site(const struct options *options, const struct named_profile *named,
					     const struct growth_site *site)
{
	char rate[NUMBER_SIZE], a_second[NUMBER_SIZE + 4], blocks_a_second[NUMBER_SIZE + 16];
	const char *const row[] = { a_second, blocks_a_second };
	const struct table_text text = site_row_text(named, site->site);
	struct table table = { .options = options };

	table_column(&table, "", 13);
	table_column(&table, "", 17);
	snprintf(a_second, sizeof(a_second), "%s/s", number_bytes((uint64_t)number_whole(site->temporary_rate), rate));
	write_blocks_rate(site->temporary_blocks_rate, blocks_a_second, sizeof(blocks_a_second));
	return table_row(&table, row, 0, &text);
}

static struct hs_error *print_temporary(const struct options *options, const struct hs_watch_result *result)
{
	const struct growth *growth = &result->growth;
	size_t indices[TEMPORARY_ROWS];
	const size_t count = growth_temporary(growth, indices, TEMPORARY_ROWS);
	struct hs_error *error = NULL;

	for (size_t i = 0; i < count && !error; i++) {
		const struct growth_site *site = &growth->sites[indices[i]];

		if (site->temporary_rate < growth->sites[indices[0]].temporary_rate / 100)
			break;
		if (i == 0)
			console_print(options, "Allocated and freed again:\n");
		error = print_temporary_site(options, &result->view.named, site);
	}
	return error;
}

// Not where the verdict has said so, or that nothing can be said.
static void print_process(const struct options *options, const struct hs_watch_result *result)
{
	const struct growth *growth = &result->growth;
	const enum verdict_kind kind = result->verdict.findings[0].kind;
	const double explained = growth_explained(growth);
	char process[NUMBER_SIZE], recorded[NUMBER_SIZE], text[400];
	const int64_t live = number_whole(growth->all.live.rate);

	if (!growth->memory_is_known || kind == VERDICT_NOTHING_GROWS || kind == VERDICT_NOT_ENOUGH_DATA)
		return;
	if (kind == VERDICT_OUTSIDE_MALLOC && explained > 0.7) // what is recorded takes the place of older blocks there
		return;
	if (explained < 0)
		snprintf(text, sizeof(text),
			 "The process does not grow steadily: anonymous memory %s in all, recorded blocks %s.",
			 number_bytes_signed(number_whole(growth->anonymous.gained), process),
			 number_bytes_signed(number_whole(growth->all.live.gained), recorded));
	else if (explained > 1.05)
		snprintf(text, sizeof(text),
			 "The process grows by %s/s; what is recorded, by %s/s: the difference goes into memory that "
			 "the process had before, or is not written to yet.",
			 number_bytes((uint64_t)number_whole(growth->anonymous.rate), process),
			 number_bytes((uint64_t)live, recorded));
	else
		snprintf(text, sizeof(text),
			 "The process grows by %s/s; what is recorded, by %s/s, is %.0f %% of that.%s",
			 number_bytes((uint64_t)number_whole(growth->anonymous.rate), process),
			 live < 0 ? number_bytes_signed(live, recorded) : number_bytes((uint64_t)live, recorded),
			 100 * explained,
			 explained < 0.95
				 ? " The rest: what malloc adds to each block or keeps, memory that the program maps "
				   "itself, older blocks that are written to only now."
				 : "");
	console_print(options, "%s\n", text);
}

// Where the verdict has not said so.
static void print_other_heap(const struct options *options, const struct hs_watch_result *result)
{
	const char *text = other_heap_text(&result->profile);

	for (size_t i = 0; i < result->verdict.count; i++)
		if (result->verdict.findings[i].tells_other_heap)
			return;
	if (text)
		console_print(options, "%s\n", text);
}

static void print_written(const struct options *options, const char *path, uint64_t bytes)
{
	char size[NUMBER_SIZE];

	if (path && strcmp(path, "-") != 0)
		console_print(options, "%s: %s\n", path, number_bytes(bytes, size));
}

static struct hs_error *print_result(const struct options *options, const struct hs_watch_result *result)
{
	struct hs_error *error;

	print_head(options, result);
	print_verdict(options, &result->verdict);
	error = print_sites(options, result);
	if (!error)
		error = print_temporary(options, result);
	if (error)
		return error;
	print_process(options, result);
	print_other_heap(options, result);
	truth_print(options, &result->profile);
	print_written(options, options->output, result->output_bytes);
	print_written(options, options->page, result->page_bytes);
	if (result->was_attached)
		console_print(options,
			      "process %d was attached before: its own settings counted, and it stays attached\n",
			      (int)result->profile.pid);
	return NULL;
}

static enum exit_status show(const struct options *options, pid_t pid, const struct hs_watch_result *result)
{
	struct hs_error *error = NULL;

	if (!options->json)
		error = print_result(options, result);
	else if (!why_print_json(options, result))
		error = console_json_error();
	if (error)
		return console_fail(options, error);
	if (!result->has_detached)
		return EXIT_DONE;
	if (!result->detach.is_finished || !options->json)
		detach_print_outcome(options, &result->detach, pid);
	detach_print_checks(options, &result->detach, pid, false);
	return result->detach.is_verified ? EXIT_DONE : EXIT_REFUSED;
}

// `context`: struct frame_rules.
static enum exit_status why_process(const struct options *options, const struct process *process, void *context)
{
	const struct hs_watch_options watch = {
		.attach = { .depth = options->depth,
			    .max_memory = options->max_memory,
			    .sampling = options->sampling,
			    .allocators = { options->allocators, options->allocator_count } },
		.rules = context,
		.time_ns = options->time_ns ? options->time_ns : FOR_DEFAULT,
		.detach_wait_ms = DETACH_WAIT_MS,
		.output = options->output,
		.page = options->page,
		.format = options->format,
		.errors = options->errors,
		.no_cache = options->no_cache,
		.debuginfod = options->debuginfod,
	};
	struct hs_watch_result result;
	enum exit_status status;
	struct hs_error *error = hs_watch(process, &watch, &result);

	if (error)
		return fail_and_look(options, process, error);
	status = show(options, process->pid, &result);
	hs_watch_result_deinit(&result);
	return status;
}

enum exit_status command_why(const struct options *options)
{
	struct frame_rules *rules = NULL;
	struct hs_error *error = hs_own_rules(options->own_rules, options->own_rule_count, &rules);
	enum exit_status status;

	if (error)
		return console_fail(options, error);
	status = each_process(options, why_process, rules);
	frame_rules_destroy(rules);
	return status;
}
