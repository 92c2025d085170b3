// SPDX-License-Identifier: Apache-2.0
#include "proto/stacks/text_report.h"

#include "base/cleanup.h"
#include "base/printable.h"
#include "views/completeness.h"
#include "views/numbers.h"
#include "views/sites.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MINIMUM_NS = 1000000 }; // of a rate

// Returns false without memory.
static bool put_name(FILE *file, const char *before, const char *name, const char *behind)
{
	HS_CLEANUP_FREE char *printable = hs_printable(name);

	if (printable)
		fprintf(file, "%s%s%s", before, printable, behind);
	return printable;
}

static bool put_title(const struct heap_profile *profile, FILE *file)
{
	const char *name = profile_process_name(profile);
	const time_t seconds = (time_t)(profile->time_ns / 1000000000);
	char date[40] = "", pid[32] = "";
	struct tm utc;

	if (profile->time_ns && gmtime_r(&seconds, &utc))
		strftime(date, sizeof(date), ", taken %Y-%m-%dT%H:%M:%SZ", &utc);
	if (profile->pid)
		snprintf(pid, sizeof(pid), " (PID %" PRId32 ")", profile->pid);
	if (!put_name(file, profile->is_difference ? "heapsnap report of a difference, of " : "heapsnap report of ",
		      *name ? name : "an unknown program", pid))
		return false;
	fprintf(file, "%s\n", date);
	return true;
}

static void put_memory(const struct profile_memory *memory, FILE *file)
{
	char rss[NUMBER_SIZE], anonymous[NUMBER_SIZE], swapped[NUMBER_SIZE], peak[NUMBER_SIZE];

	if (!memory->is_known)
		return;
	fprintf(file, "  RSS         %10s  (anonymous %s, swapped %s", number_bytes(memory->rss, rss),
		number_bytes(memory->anonymous, anonymous), number_bytes(memory->swapped, swapped));
	if (memory->peak)
		fprintf(file, ", at its peak %s", number_bytes(memory->peak, peak));
	fputs(")\n", file);
}

static void put_amount(const struct heap_profile *profile, const char *what, int64_t bytes, int64_t blocks, FILE *file)
{
	char text[NUMBER_SIZE], count[NUMBER_SIZE];

	fprintf(file, "  %-11s %10s  in %s %s", what, number_bytes_of(bytes, profile->is_difference, text),
		number_grouped_of(blocks, profile->is_difference, count), blocks == 1 ? "block" : "blocks");
}

static void put_totals(const struct heap_profile *profile, FILE *file)
{
	const struct profile_values *total = &profile->total;
	const double seconds = (double)profile->duration_ns / 1e9;
	char text[NUMBER_SIZE], count[NUMBER_SIZE];

	if (profile->duration_ns > 0)
		fprintf(file, "  %-11s %10s\n", "recorded", number_duration((uint64_t)profile->duration_ns, text));
	put_amount(profile, "live", total->live_bytes, total->live_objects, file);
	if (profile->is_estimate)
		fprintf(file, " (±%s)",
			number_error(total->live_bytes, profile_bytes_error(profile, total->live_bytes_variance),
				     text));
	if (profile->peak_looks)
		fprintf(file, ", the most of %s %s", number_grouped(profile->peak_looks, count),
			profile->peak_looks == 1 ? "look" : "looks");
	fputc('\n', file);
	put_amount(profile, "allocated", total->alloc_bytes, total->alloc_objects, file);
	if (profile->duration_ns >= MINIMUM_NS && !profile->is_difference)
		fprintf(file, "; %s, %s blocks/s", number_rate((double)total->alloc_bytes / seconds, false, text),
			number_grouped_of(number_whole((double)total->alloc_objects / seconds), false, count));
	fputc('\n', file);
	if (profile->has_temporaries && total->alloc_objects > 0)
		fprintf(file, "  %-11s %10s  of these, given back before their thread allocated another (%.0f %%)\n",
			"temporary", number_short_of(total->temporary_objects, profile->is_difference, count),
			100 * (double)total->temporary_objects / (double)total->alloc_objects);
	if (profile->is_estimate && profile->period > 1)
		fprintf(file, "  %-11s %10s  the mean interval now\n", "sampled",
			number_bytes((uint64_t)profile->period, text));
	if (profile->selection)
		fprintf(file, "  Only blocks %s.\n", profile->selection);
}

static struct hs_error *put_missing(const struct heap_profile *profile, FILE *file)
{
	HS_CLEANUP_FREE char *text = NULL;
	bool is_complete;
	struct hs_error *error = profile->is_difference ? NULL : completeness_text(profile, &is_complete, &text);

	if (error || !text)
		return error;
	if (!put_name(file, "  ", text, "\n"))
		return &hs_error_no_memory;
	return NULL;
}

// "name  file:line   via what was skipped"
static bool put_place(const struct named_profile *named, const struct site *site, FILE *file)
{
	const struct code_place *place = site->path_length ? place_of(named, site->path[0]) : NULL;

	if (!put_name(file, "  ", place ? place->full_name : "[stack unknown]", ""))
		return false;
	if (place && place->file && *place->file) {
		if (!put_name(file, "  ", place->file, ""))
			return false;
		if (place->line)
			fprintf(file, ":%" PRId64, (int64_t)place->line);
	}
	return !*site->via || put_name(file, "   via ", site->via, "");
}

static struct hs_error *put_callers(const struct named_profile *named, const struct site *site, FILE *file)
{
	HS_CLEANUP_FREE char *callers = NULL;
	struct hs_error *error = NULL;

	if (site->path_length > 1)
		error = site_path_text(named, site, 1, UINT32_MAX, &callers);
	if (error || !callers)
		return error;
	return put_name(file, "        < ", callers, "\n") ? NULL : &hs_error_no_memory;
}

static struct hs_error *put_site(const struct named_profile *named, const struct site *site, FILE *file)
{
	const struct heap_profile *profile = named->profile;
	const struct profile_values *values = &site->values;
	char live[NUMBER_SIZE], error[NUMBER_SIZE + 3] = "", blocks[NUMBER_SIZE], allocated[NUMBER_SIZE],
						    number[NUMBER_SIZE];

	if (!profile_is_recorded_exactly(values))
		snprintf(error, sizeof(error), "±%s",
			 number_error(values->live_bytes, profile_bytes_error(profile, values->live_bytes_variance),
				      number));
	// the sign is two bytes, and one column
	fprintf(file, "%12s %*s %12s %14s", number_bytes_of(values->live_bytes, profile->is_difference, live),
		*error ? 11 : 10, error, number_grouped_of(values->live_objects, profile->is_difference, blocks),
		number_bytes_of(values->alloc_bytes, profile->is_difference, allocated));
	if (!put_place(named, site, file))
		return &hs_error_no_memory;
	fputc('\n', file);
	return put_callers(named, site, file);
}

static struct hs_error *put_sites(const struct named_profile *named, FILE *file)
{
	struct site_list sites;
	struct hs_error *error = sites_make(named, &sites);

	if (error)
		return error;
	fprintf(file, "\n%12s %10s %12s %14s  %s\n", "live", "error", "blocks", "allocated", "site");
	for (size_t i = 0; i < sites.count && !error; i++)
		error = put_site(named, &sites.items[i], file);
	sites_deinit(&sites);
	return error;
}

static struct hs_error *put_ledger(const struct heap_profile *profile, FILE *file)
{
	char number[NUMBER_SIZE];

	if (profile->ledger_count)
		fputs("\nLedger (! = something is missing from the profile)\n", file);
	for (size_t i = 0; i < profile->ledger_count; i++) {
		const struct ledger_line *line = &profile->ledger[i];

		fprintf(file, "%c %20s", line->is_loss && line->value ? '!' : ' ',
			line->is_fact ? "" : number_grouped(line->value, number));
		if (!put_name(file, "  ", line->text, "\n"))
			return &hs_error_no_memory;
	}
	return NULL;
}

struct hs_error *text_report_write(const struct named_profile *named, FILE *file)
{
	const struct heap_profile *profile = named->profile;
	struct hs_error *error = put_title(profile, file) ? NULL : &hs_error_no_memory;

	if (error)
		return error;
	put_memory(&profile->memory, file);
	put_totals(profile, file);
	error = put_missing(profile, file);
	if (!error)
		error = put_sites(named, file);
	return error ? error : put_ledger(profile, file);
}
