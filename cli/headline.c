// SPDX-License-Identifier: Apache-2.0
#include "cli/headline.h"

#include "base/cleanup.h"
#include "cli/console.h"
#include "cli/memory_text.h"
#include "views/completeness.h"
#include "views/other_heaps.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

// Of a file.
static void print_origin(const struct options *options, const struct heap_profile *profile)
{
	const char *name = profile_process_name(profile);
	const time_t seconds = (time_t)(profile->time_ns / 1000000000);
	char date[60] = "", pid[32] = "";
	struct tm utc;

	if (profile->time_ns && gmtime_r(&seconds, &utc))
		strftime(date, sizeof(date),
			 profile->is_difference ? ", the later one taken %Y-%m-%dT%H:%M:%SZ"
						: ", taken %Y-%m-%dT%H:%M:%SZ",
			 &utc);
	if (profile->pid)
		snprintf(pid, sizeof(pid), " (PID %" PRId32 ")", profile->pid);
	console_print(options, "%s of %s%s%s\n", profile->is_difference ? "Difference of two profiles" : "Profile",
		      *name ? name : "an unknown program", pid, date);
}

// All that was recorded, shown or not. Of a difference that is not known.
static const struct profile_values *whole_of(const struct heap_profile *profile)
{
	return profile->selection && !profile->is_difference ? &profile->recorded : &profile->total;
}

static void print_recorded(const struct options *options, const struct heap_profile *profile)
{
	const struct profile_values *total = whole_of(profile);
	char live[NUMBER_SIZE], count[NUMBER_SIZE], duration[NUMBER_SIZE], looks[COUNT_SIZE], since[160] = "";

	if (profile->duration_ns > 0 && profile->is_difference)
		snprintf(since, sizeof(since), ", within %s",
			 number_duration((uint64_t)profile->duration_ns, duration));
	else if (profile->peak_looks)
		snprintf(since, sizeof(since), ", the most of %s, %s after %s",
			 console_count(profile->peak_looks, "look", looks),
			 number_duration((uint64_t)profile->duration_ns, duration),
			 profile->is_from_start ? "its start" : "the attach");
	else if (profile->duration_ns > 0)
		snprintf(since, sizeof(since), ", allocated since %s (%s %s)",
			 profile->is_from_start ? "its start" : "attach",
			 number_duration((uint64_t)profile->duration_ns, duration),
			 profile->memory.is_known && !profile->has_ended ? "ago" : "before");
	console_print(options, "  recorded live %10s  in %s %s%s\n",
		      number_bytes_of(total->live_bytes, profile->is_difference, live),
		      number_grouped_of(total->live_objects, profile->is_difference, count),
		      total->live_objects == 1 ? "block" : "blocks", since);
}

static void print_unrecorded(const struct options *options, const struct heap_profile *profile)
{
	const char *other_heap = other_heap_text(profile);
	const uint64_t anonymous = profile->memory.anonymous + profile->memory.swapped,
		       live = (uint64_t)whole_of(profile)->live_bytes;
	char rest[NUMBER_SIZE];

	if (live > anonymous)
		console_print(
			options,
			"  not recorded           ?  more is recorded than is resident: not all of it has been written to\n");
	else
		console_print(options, "  not recorded  %10s  %sfreed but kept by malloc, or mapped\n",
			      number_bytes(anonymous - live, rest),
			      profile->is_from_start ? "" : "older than the attach, ");
	if (other_heap && live < anonymous / 2)
		console_print(options, "  %s\n", other_heap);
}

static void print_blocks(const struct options *options, const char *what, const struct profile_values *values,
			 const char *which)
{
	char live[NUMBER_SIZE], count[NUMBER_SIZE];

	console_print(options, "  %-13s %10s  in %s %s%s\n", what, number_bytes_of(values->live_bytes, false, live),
		      number_grouped_of(values->live_objects, false, count),
		      values->live_objects == 1 ? "block" : "blocks", which);
}

// Nobody is to take a part for the whole.
static void print_selection(const struct options *options, const struct heap_profile *profile)
{
	console_print(options, "Only blocks %s%s\n", profile->selection, profile->is_difference ? "." : ":");
	if (profile->is_difference)
		return;
	print_blocks(options, "selected", &profile->total, "; nothing else is shown");
	if (profile->undecided.live_records > 0)
		print_blocks(options, "left out", &profile->undecided,
			     ": they may belong to these, but their time of birth is not known closely enough");
}

void headline_print(const struct options *options, const struct heap_profile *profile)
{
	if (profile->memory.is_known)
		memory_print(options, "Process", &profile->memory);
	else
		print_origin(options, profile);
	print_recorded(options, profile);
	if (profile->memory.is_known)
		print_unrecorded(options, profile);
	if (profile->selection)
		print_selection(options, profile);
}

static bool is_live(const struct profile_values *values)
{
	return values->live_bytes != 0 || values->live_objects != 0;
}

// Whether rows may be there that say the least that is live ("≥", cli/value_cells.h).
static bool has_least(const struct options *options, const struct heap_profile *profile)
{
	for (size_t i = 0; i < profile->sample_count && options->command != COMMAND_WHY; i++)
		if (is_live(&profile->samples[i].values) && profile_is_recorded_exactly(&profile->samples[i].values))
			return true;
	return false;
}

static void print_difference(const struct options *options, const struct heap_profile *profile)
{
	const double variance = profile->total.live_bytes_variance;
	char error[NUMBER_SIZE];

	number_bytes(profile_bytes_error(profile, variance), error);
	if (profile_is_recorded_exactly(&profile->total))
		console_print(options, "Recorded exactly; what was not recorded may differ by about %s.\n", error);
	else
		console_print(options, "Estimates (±%s of all live bytes, as if the two were independent).\n", error);
}

// What is live of it: estimates, or blocks that were recorded as they are. What no sample fell into is in neither.
static void print_truth_of_live(const struct options *options, const struct heap_profile *profile, const char *now)
{
	const struct profile_values *total = &profile->total;
	const uint64_t error = profile_bytes_error(profile, total->live_bytes_variance);
	char number[NUMBER_SIZE], unseen[NUMBER_SIZE], records[NUMBER_SIZE], from[80] = "";

	number_bytes(profile_bytes_error(profile, 0), unseen);
	if (!is_live(total)) {
		console_print(options,
			      "None of the recorded blocks is %s; about %s may be, of which no sample was taken; %s.\n",
			      profile->selection ? "selected" : "live", unseen, now);
		return;
	}
	if (profile_is_recorded_exactly(total)) {
		console_print(options,
			      "Recorded exactly; about %s more may be live%s, of which no sample was taken; %s.\n",
			      unseen, has_least(options, profile) ? " (≥)" : "", now);
		return;
	}
	if (total->live_records > 0) // of a part of a file it is not known
		snprintf(from, sizeof(from), ", from %s %s", number_grouped(total->live_records, records),
			 total->live_records == 1 ? "recorded block" : "recorded blocks");
	console_print(options, "Estimates (±%s of all live bytes%s); %s.\n",
		      number_error(total->live_bytes, error, number), from, now);
	if (has_least(options, profile))
		console_print(options,
			      "≥: recorded exactly; about %s more may be live, of which no sample was taken.\n",
			      unseen);
}

static void print_estimates(const struct options *options, const struct heap_profile *profile)
{
	char interval[NUMBER_SIZE], now[80];

	if (profile->is_difference) {
		print_difference(options, profile);
		return;
	}
	if (profile->is_stopped)
		snprintf(now, sizeof(now), "nothing new is recorded now");
	else if (profile->period > 1)
		snprintf(now, sizeof(now), "now 1 sample every %s", number_bytes((uint64_t)profile->period, interval));
	else
		snprintf(now, sizeof(now), "now every allocation is recorded");
	print_truth_of_live(options, profile, now);
	if (options->has_sampling && options->sampling.mode == HS_SAMPLING_EXACT)
		return; // what was sampled was so before
	if (options->command == COMMAND_PROFILE || profile->has_ended || profile->peak_looks ||
	    (options->command == COMMAND_WHY && profile->period > 1))
		console_print(options, "For exact numbers: --exact\n"); // it was detached meanwhile, as a rule
	else if (profile->memory.is_known && !profile->has_ended && profile->period > 1 && !profile->is_stopped)
		console_print(options, "For exact numbers from now on: heapsnap set %" PRId32 " --exact\n",
			      profile->pid);
}

static void print_completeness(const struct options *options, const struct heap_profile *profile,
			       bool is_one_of_several)
{
	HS_CLEANUP_FREE char *text = NULL;
	bool is_complete = false;
	struct hs_error *error = completeness_text(profile, &is_complete, &text);

	if (is_complete && is_one_of_several)
		console_print(options, "Nothing lost of this process.\n");
	else
		console_print(options, "%s%s\n", error ? error->message : text,
			      options->ledger || error || is_complete || profile->is_foreign
				      ? ""
				      : " --ledger for all counters.");
	hs_error_destroy(error);
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

static void print_unnamed(const struct options *options, const struct heap_profile *profile)
{
	const char *text = unnamed_code_of(profile);
	const bool may_fetch = option_any_is_for(OPTION_DEBUGINFOD, options->command) && options->path_count == 0 &&
			       !options->wants_debuginfod;

	if (text && *text)
		console_print(options, "%c%s.%s\n", toupper((unsigned char)*text), text + 1,
			      may_fetch ? " --debuginfod asks servers for them." : "");
}

static void print_truth(const struct options *options, const struct heap_profile *profile, bool is_one_of_several)
{
	if (profile->is_estimate)
		print_estimates(options, profile);
	print_completeness(options, profile, is_one_of_several);
	print_unnamed(options, profile);
	if (options->ledger)
		print_ledger(options, profile);
}

void truth_print(const struct options *options, const struct heap_profile *profile)
{
	print_truth(options, profile, false);
}

void truth_print_of_one(const struct options *options, const struct heap_profile *profile)
{
	print_truth(options, profile, true);
}
