// SPDX-License-Identifier: Apache-2.0
#include "views/pattern_index.h"

#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// The longest pattern, written out.
enum { PATTERN_MAX = 128 };

static struct hs_error *add_text(struct pattern_index *index, const char *text, size_t size)
{
	struct hs_error *error = ARRAY_RESERVE(index->texts, index->text_size + size, &index->text_room);

	if (error)
		return error;
	memcpy(index->texts + index->text_size, text, size);
	index->text_size += size;
	return NULL;
}

// Until all texts are there, and move no more, `why` and `text` are offsets: `parent` and `size` carry them.
static struct hs_error *add_entry(struct pattern_index *index, const struct frame_pattern *row, const char *kind,
				  const char *pattern, size_t size)
{
	bool is_beginning = size && pattern[size - 1] == '*', is_last = size > 3 && memcmp(pattern, "*::", 3) == 0;
	struct pattern_list *list = is_last ? &index->last_parts : is_beginning ? &index->beginnings : &index->whole;
	struct hs_error *error = ARRAY_RESERVE(list->items, list->count + 1, &list->room);

	if (error)
		return error;
	list->items[list->count++] = (struct pattern_entry){ .row = row, .parent = index->text_size };
	error = add_text(index, kind, strlen(kind));
	error = error ? error : add_text(index, " ", 1);
	error = error ? error : add_text(index, pattern, size);
	error = error ? error : add_text(index, "", 1);
	if (error)
		return error;

	// once more, without the mark
	size_t from = is_last ? 3 : 0;

	list->items[list->count - 1].size = size - from - is_beginning;
	error = add_text(index, pattern + from, size - from - is_beginning);
	return error ? error : add_text(index, "", 1);
}

struct expansion {
	struct pattern_index *index;
	const struct frame_pattern *row;
	const char *kind;
	char text[PATTERN_MAX];
};

// Writes out the rest of a row's text behind `size` bytes. The recursion is as deep as the row has lists.
static struct hs_error *expand(struct expansion *expansion, size_t size, const char *rest)
{
	struct hs_error *error = NULL;
	const char *end;

	while (*rest && *rest != '{' && size < PATTERN_MAX)
		expansion->text[size++] = *rest++;
	if (*rest != '{')
		return add_entry(expansion->index, expansion->row, expansion->kind, expansion->text, size);
	end = strchr(rest, '}');
	while (!error && end && rest < end) {
		const char *word = rest + 1;
		size_t word_size = strcspn(word, ",}");

		if (word_size > PATTERN_MAX - size)
			word_size = PATTERN_MAX - size;
		memcpy(expansion->text + size, word, word_size);
		error = expand(expansion, size + word_size, end + 1);
		rest = word + strcspn(word, ",}");
	}
	return error;
}

// Equal texts: those for some modules last, where the search begins.
static int compare_entries(const void *left, const void *right)
{
	const struct pattern_entry *a = left, *b = right;
	int order = strcmp(a->text, b->text);

	return order ? order : (a->row->within != NULL) - (b->row->within != NULL);
}

static bool begins_with(const char *text, const struct pattern_entry *entry)
{
	return strncmp(text, entry->text, entry->size) == 0;
}

static void finish_list(struct pattern_list *list, const char *texts)
{
	for (size_t i = 0; i < list->count; i++) {
		list->items[i].why = texts + list->items[i].parent;
		list->items[i].text = list->items[i].why + strlen(list->items[i].why) + 1;
		list->items[i].parent = 0;
	}
	if (list->count)
		qsort(list->items, list->count, sizeof(*list->items), compare_entries);
	for (size_t i = 1; i < list->count; i++) {
		size_t parent = i;

		while (parent && !begins_with(list->items[i].text, &list->items[parent - 1]))
			parent = list->items[parent - 1].parent;
		list->items[i].parent = parent;
	}
}

struct hs_error *pattern_index_init(struct pattern_index *ret, const struct frame_pattern *rows, size_t count,
				    const char *kind)
{
	struct hs_error *error = NULL;

	*ret = (struct pattern_index){ 0 };
	for (size_t i = 0; i < count && !error; i++) {
		struct expansion expansion = { .index = ret, .row = &rows[i], .kind = kind };

		error = expand(&expansion, 0, rows[i].text);
	}
	if (error)
		return error;
	finish_list(&ret->whole, ret->texts);
	finish_list(&ret->beginnings, ret->texts);
	finish_list(&ret->last_parts, ret->texts);
	return NULL;
}

void pattern_index_deinit(struct pattern_index *index)
{
	free(index->whole.items);
	free(index->beginnings.items);
	free(index->last_parts.items);
	free(index->texts);
	*index = (struct pattern_index){ 0 };
}

static bool module_begins(const struct pattern_subject *subject, const char *beginning)
{
	size_t size = strlen(beginning);
	const char *module = subject->module;
	size_t left = subject->module_size;

	if (left >= size && memcmp(module, beginning, size) == 0)
		return true;
	return left >= size + 3 && memcmp(module, "lib", 3) == 0 && memcmp(module + 3, beginning, size) == 0;
}

static bool counts_for(const struct pattern_entry *entry, const struct pattern_subject *subject)
{
	return (!entry->row->within || module_begins(subject, entry->row->within)) &&
	       (!entry->row->is_rust || subject->may_be_rust);
}

// How many of the sorted entries are not after the text.
static size_t count_up_to(const struct pattern_list *list, const char *text)
{
	size_t low = 0, high = list->count; // those before low are not after the text, those from high on are

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(list->items[middle].text, text) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static const struct pattern_entry *find_whole(const struct pattern_list *list, const char *text,
					      const struct pattern_subject *subject)
{
	for (size_t i = count_up_to(list, text); i && strcmp(list->items[i - 1].text, text) == 0; i--) {
		if (counts_for(&list->items[i - 1], subject))
			return &list->items[i - 1];
	}
	return NULL;
}

// The last one that is not after the text begins with the longest that the text begins with, if there is one: what is
// between two texts, of which the second begins with the first, begins with the first, too.
static const struct pattern_entry *find_beginning(const struct pattern_list *list,
						  const struct pattern_subject *subject)
{
	for (size_t i = count_up_to(list, subject->text); i; i = list->items[i - 1].parent) {
		if (begins_with(subject->text, &list->items[i - 1]) && counts_for(&list->items[i - 1], subject))
			return &list->items[i - 1];
	}
	return NULL;
}

const struct pattern_entry *pattern_index_find(const struct pattern_index *index, const struct pattern_subject *subject)
{
	const struct pattern_entry *found = find_whole(&index->whole, subject->text, subject);

	if (!found)
		found = find_beginning(&index->beginnings, subject);
	if (!found && subject->last_part[0])
		found = find_whole(&index->last_parts, subject->last_part, subject);
	return found;
}
