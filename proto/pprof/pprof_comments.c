// SPDX-License-Identifier: Apache-2.0
#include "proto/pprof/pprof_comments.h"

#include "base/cleanup.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct comments {
	const struct heap_profile *source;
	struct string_table *strings;
	int64_t *ids;
	size_t count;
};

static HS_PRINTF(2, 3) struct hs_error *add_comment(struct comments *comments, const char *format, ...)
{
	HS_CLEANUP_FREE char *text = NULL;
	va_list arguments;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		text = NULL; // vasprintf leaves it undefined
	va_end(arguments);
	if (!text)
		return &hs_error_no_memory;
	return string_table_add(comments->strings, text, &comments->ids[comments->count++]);
}

// A comment of several parts, growing.
struct packed {
	FILE *file;
	char *text; // owned; there after packed_add_to
	size_t size;
	bool has_part;
};

static struct hs_error *packed_begin(struct packed *packed, const char *beginning)
{
	*packed = (struct packed){ .file = NULL };
	packed->file = open_memstream(&packed->text, &packed->size);
	if (!packed->file)
		return &hs_error_no_memory;
	fputs(beginning, packed->file);
	return NULL;
}

static void put_separator(struct packed *packed)
{
	if (packed->has_part)
		fputs(PPROF_PART_SEPARATOR, packed->file);
	packed->has_part = true;
}

// A text of the target's, say: a bar in it is no separator.
static void put_text(struct packed *packed, const char *text)
{
	for (; *text; text++) {
		if (*text == PPROF_PART_BAR)
			fputc(PPROF_PART_BAR, packed->file);
		fputc(*text, packed->file);
	}
}

static void put_number(struct packed *packed, const char *name, uint64_t value, const char *what)
{
	put_separator(packed);
	fprintf(packed->file, "%s: %" PRIu64, name, value);
	if (what)
		fprintf(packed->file, " (%s)", what);
}

static struct hs_error *packed_add_to(struct packed *packed, struct comments *comments)
{
	const bool failed = ferror(packed->file) != 0;
	struct hs_error *error = fclose(packed->file) != 0 || failed ? &hs_error_no_memory : NULL;

	if (!error)
		error = add_comment(comments, "%s", packed->text);
	free(packed->text);
	return error;
}

static void put_stop(struct packed *packed, const struct heap_profile *source)
{
	put_separator(packed);
	if (source->stopped_because)
		fprintf(packed->file, "stopped_ns: %" PRIu64 " (the process was stopped for the snapshot: %s)",
			source->stopped_ns, source->stopped_because);
	else
		fprintf(packed->file,
			"stopped_ns: 0 (no thread was stopped for the snapshot; log_records: %" PRIu64 ")",
			source->log_records);
}

static uint64_t objects_error(const struct heap_profile *source)
{
	return profile_objects_error(source, source->total.live_objects_variance, source->total.live_objects,
				     source->total.live_bytes);
}

static uint64_t bytes_error(const struct heap_profile *source)
{
	return profile_bytes_error(source, source->total.live_bytes_variance);
}

static void put_uncertainty(struct packed *packed, const struct heap_profile *source)
{
	put_separator(packed);
	fprintf(packed->file,
		"sampling_interval: %" PRId64
		" (values are estimates; mean bytes between samples, as it is now; 1 = every allocation is recorded)",
		source->period);
	put_separator(packed);
	fprintf(packed->file,
		"sampling_interval_most: %" PRId64
		" (the largest since attach; about as many live bytes may be shown nowhere)",
		source->interval_most);
	put_number(packed, "samples", source->total.live_records, "recorded blocks, of which the live values are made");
	put_number(packed, "inuse_objects_error", objects_error(source), "standard error of all live objects");
	put_number(packed, "inuse_space_error", bytes_error(source), "standard error of all live bytes");
	if (profile_is_recorded_exactly(&source->total))
		put_number(packed, "recorded_exactly", 1,
			   "no live block that is shown stands for others; the errors are of what no sample fell into");
}

static void put_cut(struct packed *packed, const struct profile_cut *cut)
{
	put_number(packed, "session", cut->session, NULL);
	put_number(packed, "cut_epoch", cut->epoch, NULL);
	put_number(packed, "cut_ticks", cut->ticks, NULL);
}

static void put_selection(struct packed *packed, const struct heap_profile *source)
{
	put_separator(packed);
	fputs("selection: ", packed->file);
	put_text(packed, source->selection);
	if (source->is_difference)
		return; // of which no more is known
	put_number(packed, "recorded_objects", (uint64_t)source->recorded.live_objects, "live, selected or not");
	put_number(packed, "recorded_bytes", (uint64_t)source->recorded.live_bytes, NULL);
	put_number(packed, "undecided_objects", (uint64_t)source->undecided.live_objects,
		   "left out: nothing proves that they are selected");
	put_number(packed, "undecided_bytes", (uint64_t)source->undecided.live_bytes, NULL);
}

// The function that a location lies in; NULL = it has no symbol.
static const struct profile_function *function_of(const struct heap_profile *source,
						  const struct profile_location *location, uint32_t *index_ret)
{
	if (location->line_count == 0 || location->is_guess)
		return NULL;
	*index_ret = source->lines[location->first_line + location->line_count - 1].function;
	return &source->functions[*index_ret];
}

static bool has_namesake(const struct heap_profile *source, const bool *is_wrapper, uint32_t function)
{
	for (size_t i = 0; i < source->function_count; i++)
		if (!is_wrapper[i] && strcmp(source->functions[i].name, source->functions[function].name) == 0)
			return true;
	return false;
}

static struct hs_error *put_wrappers(struct packed *packed, const struct heap_profile *source)
{
	HS_CLEANUP_FREE bool *is_wrapper = calloc(source->function_count + 1, sizeof(*is_wrapper));
	unsigned count = 0;
	uint32_t index;

	if (!is_wrapper)
		return &hs_error_no_memory;
	for (size_t i = 0; i < source->location_count; i++)
		if (source->locations[i].is_wrapper && function_of(source, &source->locations[i], &index))
			is_wrapper[index] = true;
	for (uint32_t i = 0; i < source->function_count && count < PPROF_WRAPPERS_MAX; i++) {
		if (!is_wrapper[i] || has_namesake(source, is_wrapper, i))
			continue;
		put_separator(packed);
		fputs(PPROF_WRAPPER_BEGINNING, packed->file);
		put_text(packed, source->functions[i].name);
		count++;
	}
	return NULL;
}

static struct hs_error *add_process(struct comments *comments)
{
	const struct heap_profile *source = comments->source;
	time_t seconds = (time_t)(source->time_ns / 1000000000);
	char date[32] = "unknown";
	struct packed packed;
	struct hs_error *error = packed_begin(&packed, PPROF_PROCESS_BEGINNING "program: ");
	struct tm utc;

	if (error)
		return error;
	if (gmtime_r(&seconds, &utc))
		strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &utc);
	packed.has_part = true;
	put_text(&packed, source->program ? source->program : "unknown");
	if (source->name) {
		put_separator(&packed);
		fputs("name: ", packed.file);
		put_text(&packed, source->name);
	}
	put_separator(&packed);
	fprintf(packed.file, "pid: %" PRId32, source->pid);
	put_separator(&packed);
	fprintf(packed.file, "time: %s", date);
	put_stop(&packed, source);
	if (source->is_difference)
		put_number(&packed, "difference", 1,
			   "values are those of this time less those of an earlier profile; the duration is the time "
			   "between the two");
	if (source->peak_looks)
		put_number(&packed, "peak_of_looks", source->peak_looks,
			   "snapshots; this is the one at which most bytes were live");
	if (source->is_estimate)
		put_uncertainty(&packed, source);
	if (source->cut.session && !source->is_difference)
		put_cut(&packed, &source->cut);
	if (source->selection)
		put_selection(&packed, source);
	error = put_wrappers(&packed, source);

	struct hs_error *added = packed_add_to(&packed, comments);

	return error ? error : added;
}

static struct hs_error *add_ledger(struct comments *comments)
{
	const struct heap_profile *source = comments->source;
	struct packed packed;
	struct hs_error *error = packed_begin(&packed, PPROF_LEDGER_BEGINNING);

	if (error)
		return error;
	for (size_t i = 0; i < source->ledger_count; i++) {
		const struct ledger_line *line = &source->ledger[i];

		if (!line->value)
			continue;
		put_separator(&packed);
		fputs(line->is_loss ? "LOSS: " : "", packed.file);
		put_text(&packed, line->name);
		if (!line->is_fact)
			fprintf(packed.file, ": %" PRIu64, line->value);
		fputs(" (", packed.file);
		put_text(&packed, line->text);
		fputc(')', packed.file);
	}
	return packed_add_to(&packed, comments);
}

struct hs_error *pprof_comments_add(const struct heap_profile *source, const char *truth, struct string_table *strings,
				    int64_t *ids, size_t *count_ret)
{
	struct comments comments = { .source = source, .strings = strings, .ids = ids };
	struct hs_error *error =
		add_comment(&comments, "heapsnap: %s, PID %" PRId32 "%s%s", HEAPSNAP_VERSION, source->pid,
			    source->selection ? "; only blocks " : "", source->selection ? source->selection : "");

	if (!error && source->is_estimate)
		error = add_comment(&comments,
				    "Estimates: inuse_space ± %" PRIu64 " bytes, inuse_objects ± %" PRIu64
				    " (standard errors of the totals)",
				    bytes_error(source), objects_error(source));
	if (!error && truth)
		error = add_comment(&comments, "%s", truth);
	if (!error)
		error = add_process(&comments);
	if (!error)
		error = add_ledger(&comments);
	*count_ret = comments.count;
	return error;
}
