// SPDX-License-Identifier: Apache-2.0
#include "proto/pprof/comment_reader.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/printable.h"
#include "proto/pprof/pprof_comments.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum kind {
	KIND_HEAPSNAP,
	KIND_PROGRAM,
	KIND_NAME, // a text
	KIND_PID,
	KIND_TIME, // the profile has it in nanoseconds
	KIND_STOPPED,
	KIND_DIFFERENCE,
	KIND_PEAK,
	KIND_INTERVAL, // as the profile's period
	KIND_INTERVAL_MOST,
	KIND_SAMPLES,
	KIND_OBJECTS_ERROR,
	KIND_BYTES_ERROR,
	KIND_EXACT, // all that is live was recorded as it is
	KIND_SESSION,
	KIND_EPOCH,
	KIND_TICKS,
	KIND_SELECTION, // a text
	KIND_RECORDED_OBJECTS,
	KIND_RECORDED_BYTES,
	KIND_UNDECIDED_OBJECTS,
	KIND_UNDECIDED_BYTES,
	KIND_COUNT
};

static const char *const kinds[KIND_COUNT] = {
	[KIND_HEAPSNAP] = "heapsnap",
	[KIND_PROGRAM] = "program",
	[KIND_NAME] = "name",
	[KIND_PID] = "pid",
	[KIND_TIME] = "time",
	[KIND_STOPPED] = "stopped_ns",
	[KIND_DIFFERENCE] = "difference",
	[KIND_PEAK] = "peak_of_looks",
	[KIND_INTERVAL] = "sampling_interval",
	[KIND_INTERVAL_MOST] = "sampling_interval_most",
	[KIND_SAMPLES] = "samples",
	[KIND_OBJECTS_ERROR] = "inuse_objects_error",
	[KIND_BYTES_ERROR] = "inuse_space_error",
	[KIND_EXACT] = "recorded_exactly",
	[KIND_SESSION] = "session",
	[KIND_EPOCH] = "cut_epoch",
	[KIND_TICKS] = "cut_ticks",
	[KIND_SELECTION] = "selection",
	[KIND_RECORDED_OBJECTS] = "recorded_objects",
	[KIND_RECORDED_BYTES] = "recorded_bytes",
	[KIND_UNDECIDED_OBJECTS] = "undecided_objects",
	[KIND_UNDECIDED_BYTES] = "undecided_bytes",
};

static const char LOSS[] = "LOSS: ", NO_STOP[] = "(no thread was stopped",
		  LOG_RECORDS[] = "log_records: ", ASKED_FOR[] = "asked for";

bool comment_is_ours(const char *text, size_t size)
{
	static const char begin[] = "heapsnap: ";

	return size >= sizeof(begin) - 1 && memcmp(text, begin, sizeof(begin) - 1) == 0;
}

// A decimal number, behind which *text stands afterwards.
static bool read_number(const char **text, uint64_t *ret)
{
	char *end;

	if (!isdigit((unsigned char)**text))
		return false;
	errno = 0;
	*ret = strtoull(*text, &end, 10);
	*text = end;
	return errno == 0;
}

static int64_t bounded(uint64_t value) { return value < INT64_MAX ? (int64_t)value : INT64_MAX; }

static void read_stop(const char *text, uint64_t stopped_ns, struct heap_profile *profile)
{
	const char *records = strstr(text, LOG_RECORDS);

	if (strstr(text, NO_STOP)) {
		records = records ? records + sizeof(LOG_RECORDS) - 1 : "";
		if (!read_number(&records, &profile->log_records))
			profile->log_records = 0;
		return;
	}
	profile->stopped_ns = stopped_ns;
	profile->stopped_because = strstr(text, ASKED_FOR) ? ASKED_FOR : "for the reason that its file says";
}

// In place of an earlier one.
static struct hs_error *read_text(const char *text, char **ret)
{
	free(*ret);
	*ret = hs_printable(text);
	return *ret ? NULL : &hs_error_no_memory;
}

// What says which blocks a profile is of, and when it was taken. A count of live blocks says also that there are
// records.
static void read_part(enum kind kind, uint64_t value, struct heap_profile *profile)
{
	switch (kind) {
	case KIND_SESSION:
		profile->cut.session = value;
		break;
	case KIND_EPOCH:
		profile->cut.epoch = value <= UINT32_MAX ? (uint32_t)value : 0;
		break;
	case KIND_TICKS:
		profile->cut.ticks = value;
		break;
	case KIND_RECORDED_OBJECTS:
		profile->recorded.live_objects = bounded(value);
		break;
	case KIND_RECORDED_BYTES:
		profile->recorded.live_bytes = bounded(value);
		break;
	case KIND_UNDECIDED_OBJECTS:
		profile->undecided.live_objects = bounded(value);
		profile->undecided.live_records = value;
		break;
	case KIND_UNDECIDED_BYTES:
		profile->undecided.live_bytes = bounded(value);
		break;
	default:
		break;
	}
}

static void read_kind(struct comment_reader *reader, enum kind kind, const char *text, struct heap_profile *profile)
{
	struct profile_values *total = &profile->total;
	uint64_t value;

	if (!read_number(&text, &value))
		return;
	switch (kind) {
	case KIND_PID:
		profile->pid = value <= INT32_MAX ? (int32_t)value : 0;
		break;
	case KIND_STOPPED:
		read_stop(text, value, profile);
		break;
	case KIND_DIFFERENCE:
		profile->is_difference = value != 0;
		break;
	case KIND_PEAK:
		profile->peak_looks = value;
		break;
	case KIND_INTERVAL:
		profile->is_estimate = true;
		break;
	case KIND_INTERVAL_MOST:
		profile->interval_most = bounded(value);
		break;
	case KIND_SAMPLES:
		total->live_records = value;
		break;
	case KIND_OBJECTS_ERROR:
		total->live_objects_variance = pprof_variance((double)value);
		break;
	case KIND_BYTES_ERROR:
		total->live_bytes_variance = pprof_variance((double)value);
		break;
	case KIND_EXACT:
		reader->is_exact = value != 0;
		break;
	default:
		if (kind < KIND_SESSION)
			return;
		read_part(kind, value, profile);
	}
	reader->seen |= 1u << kind;
	reader->has_errors = reader->seen & 1u << KIND_OBJECTS_ERROR && reader->seen & 1u << KIND_BYTES_ERROR;
}

// Fit to be shown, as what our own ledger says always is. Owned by the caller; NULL without memory.
static char *printable_part(const char *text, size_t size)
{
	HS_CLEANUP_FREE char *part = strndup(text, size);

	return part ? hs_printable(part) : NULL;
}

// "name: value (text)", and where facts are written as such, "name (text)". What is anything else is no line of the
// ledger.
static struct hs_error *read_ledger_line(const char *text, bool has_facts, struct heap_profile *profile)
{
	bool is_loss = strncmp(text, LOSS, sizeof(LOSS) - 1) == 0;
	struct ledger_line line = { .is_loss = is_loss, .value = 1 };
	const char *name = text + (is_loss ? sizeof(LOSS) - 1 : 0), *name_end = name + strcspn(name, ": "),
		   *at = name_end;
	size_t length;

	if (name_end == name)
		return NULL;
	line.is_fact = has_facts && *at == ' ';
	if (!line.is_fact) {
		if (strncmp(at, ": ", 2) != 0)
			return NULL;
		at += 2;
		if (!read_number(&at, &line.value))
			return NULL;
	}
	if (strncmp(at, " (", 2) != 0)
		return NULL;
	at += 2;
	length = strlen(at);
	if (length == 0 || at[length - 1] != ')')
		return NULL;
	line.name = printable_part(name, (size_t)(name_end - name));
	line.text = printable_part(at, length - 1);
	if (!line.name || !line.text ||
	    ARRAY_RESERVE(profile->ledger, profile->ledger_count + 1, &profile->ledger_room)) {
		free(line.name);
		free(line.text);
		return &hs_error_no_memory;
	}
	profile->ledger[profile->ledger_count++] = line;
	return NULL;
}

// Where a kind that is a text goes; NULL = it is a number.
static char **text_of(enum kind kind, struct heap_profile *profile)
{
	return kind == KIND_PROGRAM     ? &profile->program
	       : kind == KIND_NAME      ? &profile->name
	       : kind == KIND_SELECTION ? &profile->selection
					: NULL;
}

static struct hs_error *add_wrapper(struct comment_reader *reader, const char *name)
{
	char *copy;

	if (reader->wrapper_count == PPROF_WRAPPERS_MAX)
		return NULL;
	copy = strdup(name);
	if (!copy || ARRAY_RESERVE(reader->wrappers, reader->wrapper_count + 1, &reader->wrapper_room)) {
		free(copy);
		return &hs_error_no_memory;
	}
	reader->wrappers[reader->wrapper_count++] = copy;
	return NULL;
}

static int compare_names(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

void comment_mark_wrappers(struct comment_reader *reader, struct heap_profile *profile)
{
	if (reader->wrapper_count == 0)
		return;
	qsort(reader->wrappers, reader->wrapper_count, sizeof(*reader->wrappers), compare_names);
	for (size_t i = 0; i < profile->location_count; i++) {
		struct profile_location *location = &profile->locations[i];
		const struct profile_line *outermost;

		if (location->line_count == 0 || location->is_guess)
			continue;
		outermost = &profile->lines[location->first_line + location->line_count - 1];
		location->is_wrapper = bsearch(&profile->functions[outermost->function].name, reader->wrappers,
					       reader->wrapper_count, sizeof(*reader->wrappers), compare_names) != NULL;
	}
}

void comment_reader_deinit(struct comment_reader *reader)
{
	for (size_t i = 0; i < reader->wrapper_count; i++)
		free(reader->wrappers[i]);
	free(reader->wrappers);
}

// Whether a text says anything of a known kind; then it is read.
static struct hs_error *read_known(struct comment_reader *reader, const char *text, struct heap_profile *profile,
				   bool *is_known_ret)
{
	*is_known_ret = strncmp(text, PPROF_WRAPPER_BEGINNING, sizeof(PPROF_WRAPPER_BEGINNING) - 1) == 0;
	if (*is_known_ret)
		return add_wrapper(reader, text + sizeof(PPROF_WRAPPER_BEGINNING) - 1);
	for (int kind = 0; kind < KIND_COUNT; kind++) {
		size_t length = strlen(kinds[kind]);

		if (strncmp(text, kinds[kind], length) != 0 || strncmp(text + length, ": ", 2) != 0)
			continue;
		*is_known_ret = true;
		if (reader->seen & 1u << kind)
			return NULL;
		if (text_of((enum kind)kind, profile)) {
			reader->seen |= 1u << kind;
			return read_text(text + length + 2, text_of((enum kind)kind, profile));
		}
		read_kind(reader, (enum kind)kind, text + length + 2, profile);
		return NULL;
	}
	return NULL;
}

// The next part of a packed comment, in place: bars that stand twice become one. NULL = there is none.
static char *next_part(char **rest)
{
	static const size_t separator_size = sizeof(PPROF_PART_SEPARATOR) - 1;
	char *part = *rest, *from = part, *to = part;

	if (!part)
		return NULL;
	*rest = NULL;
	while (*from) {
		if (strncmp(from, PPROF_PART_SEPARATOR, separator_size) == 0) {
			*rest = from + separator_size;
			break;
		}
		from += from[0] == PPROF_PART_BAR && from[1] == PPROF_PART_BAR;
		*to++ = *from++;
	}
	*to = 0;
	return part;
}

static struct hs_error *read_packed(struct comment_reader *reader, const char *text, bool is_ledger,
				    struct heap_profile *profile)
{
	HS_CLEANUP_FREE char *copy = strdup(text);
	char *rest = copy, *part;
	struct hs_error *error = NULL;
	bool is_known;

	if (!copy)
		return &hs_error_no_memory;
	while (!error && (part = next_part(&rest)))
		error = is_ledger ? read_ledger_line(part, true, profile)
				  : read_known(reader, part, profile, &is_known);
	return error;
}

// What stands behind a beginning; NULL = the text has another one.
static const char *after(const char *text, const char *beginning)
{
	const size_t length = strlen(beginning);

	return strncmp(text, beginning, length) == 0 ? text + length : NULL;
}

size_t comment_lines_max(const char *text, size_t size)
{
	size_t count = 1;

	if (size == 0 || *text != '#')
		return 1;
	for (size_t i = 0; i < size; i++)
		count += text[i] == PPROF_PART_BAR;
	return count;
}

struct hs_error *comment_read(struct comment_reader *reader, const char *text, struct heap_profile *profile)
{
	const char *process = after(text, PPROF_PROCESS_BEGINNING), *ledger = after(text, PPROF_LEDGER_BEGINNING);
	struct hs_error *error;
	bool is_known;

	if (process || ledger)
		return read_packed(reader, process ? process : ledger, ledger, profile);
	error = read_known(reader, text, profile, &is_known);
	return error || is_known ? error : read_ledger_line(text, false, profile);
}
