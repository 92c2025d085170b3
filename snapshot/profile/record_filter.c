// SPDX-License-Identifier: Apache-2.0
#include "snapshot/profile/record_filter.h"

#include "base/cleanup.h"
#include "base/printable.h"
#include "snapshot/profile/word_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// The id that the text is, in the process's own namespace; 0 = it is a name, or no id.
static uint32_t id_of(const char *text, const struct thread_names *names)
{
	unsigned long number;

	if (!*text || text[strspn(text, "0123456789")] != 0)
		return 0;
	errno = 0;
	number = strtoul(text, NULL, 10);
	if (errno || number > INT32_MAX)
		return 0;
	for (size_t i = 0; i < names->count; i++)
		if (names->items[i].shown == number)
			return names->items[i].tid;
	return (uint32_t)number; // of a thread that has ended
}

// Ids are used again: a name is that of the last thread which had the id.
static bool is_called(const struct thread_names *names, uint32_t tid, const char *name, bool is_last)
{
	const struct thread_name *found = is_last ? thread_names_find(names, tid) : NULL;

	return found && strcmp(found->name, name) == 0;
}

static struct hs_error *choose_threads(const struct table_view *view, const char *text,
				       const struct thread_names *names, bool *chosen)
{
	const uint32_t id = id_of(text, names), all = table_header(view)->thread_count,
		       count = all < HS_THREAD_HISTORY_MAX ? all : HS_THREAD_HISTORY_MAX;
	HS_CLEANUP_FREE char *printable = NULL;
	struct word_index seen = { 0 };
	bool is_found = false, is_last = false;
	uint32_t number = 0;

	for (uint32_t i = count; i > 0 && number != UINT32_MAX; i--) {
		const uint32_t tid = table_thread_id(view, i - 1);

		number = word_index_add(&seen, tid, &is_last);
		chosen[i - 1] = tid && (tid == id || is_called(names, tid, text, is_last));
		is_found |= chosen[i - 1];
	}
	word_index_deinit(&seen);
	if (number == UINT32_MAX)
		return &hs_error_no_memory;
	if (is_found)
		return NULL;
	printable = hs_printable(text);
	return hs_error_create(
		HS_ERROR_NOT_FOUND,
		"no thread '%s' has allocated anything since attach; ps -T -p PID lists ids and names, and "
		"one that has ended is known by its id alone",
		printable ? printable : "?");
}

static struct hs_error *set_since(const struct table_view *view, const struct profile_cut *since,
				  struct record_filter *filter)
{
	if (since->session != table_header(view)->stable.code_nonce)
		return hs_error_create(HS_ERROR_NOT_FOUND,
				       "the profile of --since-dump is of another process, or of an attach before this "
				       "one: what has come since cannot be told");
	filter->epoch_least = since->epoch;
	return since->epoch ? NULL : birth_line_init(&filter->since, since->ticks);
}

struct hs_error *record_filter_init(const struct table_view *view, const struct block_selection *selection,
				    const struct thread_names *names, uint64_t now, struct record_filter *ret)
{
	const uint32_t ticks_per_us = table_header(view)->ticks_per_us;
	struct hs_error *error = NULL;

	*ret = (struct record_filter){ .is_used = block_selection_is_part(selection),
				       .size_least = selection->size_least };
	if ((selection->older_ns || selection->younger_ns) && !ticks_per_us)
		return hs_error_create(HS_ERROR_BAD_DATA, "the region does not say how fast its clock is");
	if (selection->older_ns)
		error = birth_line_init(&ret->older, ticks_before(now, selection->older_ns, ticks_per_us));
	if (!error && selection->younger_ns)
		error = birth_line_init(&ret->below, ticks_before(now, selection->younger_ns, ticks_per_us));
	if (!error && selection->since.session)
		error = set_since(view, &selection->since, ret);
	if (!error && selection->thread) {
		ret->threads = calloc(HS_THREAD_HISTORY_MAX, sizeof(*ret->threads));
		error = ret->threads ? choose_threads(view, selection->thread, names, ret->threads)
				     : &hs_error_no_memory;
	}
	if (error)
		record_filter_deinit(ret);
	return error;
}

void record_filter_deinit(struct record_filter *filter)
{
	birth_line_deinit(&filter->older);
	birth_line_deinit(&filter->below);
	birth_line_deinit(&filter->since);
	free(filter->threads);
	*filter = (struct record_filter){ 0 };
}

bool record_filter_looks_first(const struct record_filter *filter)
{
	return filter->older.last || filter->below.last || filter->since.last;
}

void record_filter_note(struct record_filter *filter, const struct block_record *record)
{
	struct birth_line *lines[] = { &filter->older, &filter->below, &filter->since };

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (lines[i]->last)
			birth_line_note(lines[i], record);
}

// Whether a block is on that side of a line, if there is one.
static enum filter_answer judge(const struct birth_line *line, enum birth_side wanted,
				const struct block_record *record)
{
	const enum birth_side side = line->last ? birth_line_side(line, record) : wanted;

	return side == wanted ? FILTER_IN : side == BORN_UNSURE ? FILTER_UNDECIDED : FILTER_OUT;
}

enum filter_answer record_filter_judge(const struct record_filter *filter, const struct block_record *record)
{
	const enum filter_answer answers[] = {
		judge(&filter->older, BORN_BEFORE, record),
		judge(&filter->below, BORN_AFTER, record),
		judge(&filter->since, BORN_AFTER, record),
	};
	enum filter_answer answer = FILTER_IN;

	if (record->size < filter->size_least || record->epoch < filter->epoch_least ||
	    (filter->threads && !filter->threads[record->thread]))
		return FILTER_OUT;
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		if (answers[i] == FILTER_OUT)
			return FILTER_OUT;
		if (answers[i] == FILTER_UNDECIDED)
			answer = FILTER_UNDECIDED;
	}
	return answer;
}
