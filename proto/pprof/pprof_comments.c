// SPDX-License-Identifier: Apache-2.0
#include "proto/pprof/pprof_comments.h"

#include "base/cleanup.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
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

static struct hs_error *add_uncertainty(struct comments *comments)
{
	const struct heap_profile *source = comments->source;
	struct hs_error *error =
		add_comment(comments,
			    "sampling_interval: %" PRId64 " (values are estimates; mean bytes between samples, "
			    "as it is now; 1 = every allocation is recorded)",
			    source->period);

	if (!error)
		error = add_comment(comments,
				    "sampling_interval_most: %" PRId64
				    " (the largest since attach; about as many live bytes may be shown nowhere)",
				    source->interval_most);
	if (!error)
		error = add_comment(comments,
				    "samples: %" PRIu64 " (recorded blocks, of which the live values are made)",
				    source->total.live_records);
	if (!error)
		error = add_comment(comments, "inuse_objects_error: %" PRIu64 " (standard error of all live objects)",
				    profile_objects_error(source, source->total.live_objects_variance,
							  source->total.live_objects, source->total.live_bytes));
	if (!error)
		error = add_comment(comments, "inuse_space_error: %" PRIu64 " (standard error of all live bytes)",
				    profile_bytes_error(source, source->total.live_bytes_variance));
	return error;
}

static struct hs_error *add_ledger(struct comments *comments)
{
	struct hs_error *error = NULL;

	for (size_t i = 0; i < comments->source->ledger_count && !error; i++) {
		const struct ledger_line *line = &comments->source->ledger[i];

		error = add_comment(comments, "%s%s: %" PRIu64 " (%s)",
				    line->is_loss && line->value > 0 ? "LOSS: " : "", line->name, line->value,
				    line->text);
	}
	return error;
}

struct hs_error *pprof_comments_add(const struct heap_profile *source, struct string_table *strings, int64_t *ids,
				    size_t *count_ret)
{
	struct comments comments = { .source = source, .strings = strings, .ids = ids };
	time_t seconds = (time_t)(source->time_ns / 1000000000);
	char date[32] = "unknown";
	struct hs_error *error;
	struct tm utc;

	if (gmtime_r(&seconds, &utc))
		strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &utc);
	error = add_comment(&comments, "heapsnap: %s", HEAPSNAP_VERSION);
	if (!error)
		error = add_comment(&comments, "program: %s", source->program ? source->program : "unknown");
	if (!error)
		error = add_comment(&comments, "pid: %" PRId32, source->pid);
	if (!error)
		error = add_comment(&comments, "time: %s", date);
	if (!error && source->stopped_because)
		error = add_comment(&comments, "stopped_ns: %" PRIu64 " (the process was stopped for the snapshot: %s)",
				    source->stopped_ns, source->stopped_because);
	if (!error && !source->stopped_because)
		error = add_comment(&comments,
				    "stopped_ns: 0 (no thread was stopped for the snapshot; log_records: %" PRIu64 ")",
				    source->log_records);
	if (!error && source->is_difference)
		error = add_comment(
			&comments, "difference: 1 (values are those of this time less those of an earlier profile; the "
				   "duration is the time between the two)");
	if (!error && source->is_estimate)
		error = add_uncertainty(&comments);
	if (!error)
		error = add_ledger(&comments);
	*count_ret = comments.count;
	return error;
}
