// SPDX-License-Identifier: Apache-2.0
#include "snapshot/profile/label_texts.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/printable.h"
#include "snapshot/profile/hook_labels.h"
#include "snapshot/profile/word_index.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct texts {
	struct heap_profile *profile;
	size_t room;
};

static struct texts texts_of(struct heap_profile *profile)
{
	return (struct texts){ profile, profile->label_text_count };
}

// `text` is taken, NULL = there was no memory for it. *ret: its number, + 1.
static struct hs_error *add_text(struct texts *texts, char *text, uint32_t *ret)
{
	struct heap_profile *profile = texts->profile;
	struct hs_error *error = text ? ARRAY_RESERVE(profile->label_texts, profile->label_text_count + 1, &texts->room)
				      : &hs_error_no_memory;

	if (error) {
		free(text);
		return error;
	}
	profile->label_texts[profile->label_text_count++] = text;
	*ret = (uint32_t)profile->label_text_count;
	return NULL;
}

static char *thread_text(const struct thread_name *name, uint32_t tid)
{
	HS_CLEANUP_FREE char *printable = name ? hs_printable(name->name) : NULL;
	char *text = NULL;
	int length;

	if (name && !printable)
		return NULL;
	if (name && name->name[0])
		length = asprintf(&text, "%s (%" PRIu32 ")", printable, name->shown);
	else
		length = asprintf(&text, "%" PRIu32, name ? name->shown : tid);
	return length < 0 ? NULL : text;
}

// An id is used again: the name is that of the last thread that had it. *last_ret: by thread, owned by the caller.
static struct hs_error *find_last(const struct table_view *view, uint32_t count, bool **last_ret)
{
	struct word_index seen = { 0 };
	uint32_t number = 0;

	*last_ret = calloc(count + 1u, sizeof(**last_ret));
	for (uint32_t i = count; i > 0 && *last_ret && number != UINT32_MAX; i--)
		number = word_index_add(&seen, table_thread_id(view, i - 1), &(*last_ret)[i - 1]);
	word_index_deinit(&seen);
	return *last_ret && number != UINT32_MAX ? NULL : &hs_error_no_memory;
}

struct hs_error *label_texts_threads(const struct table_view *view, const struct thread_names *names,
				     struct heap_profile *profile)
{
	const uint32_t all = table_header(view)->thread_count,
		       count = all < HS_THREAD_HISTORY_MAX ? all : HS_THREAD_HISTORY_MAX;
	struct texts texts = texts_of(profile);
	struct word_index known = { 0 }; // ids, and whether it is the last one
	HS_CLEANUP_FREE uint32_t *numbers = NULL;
	HS_CLEANUP_FREE bool *last = NULL;
	size_t room = 0;
	struct hs_error *error = find_last(view, count, &last);

	for (size_t i = 0; i < profile->sample_count && !error; i++) {
		uint32_t *label = &profile->samples[i].labels.thread;
		const uint32_t index = *label - 1, tid = *label ? table_thread_id(view, index) : 0;
		bool is_new = false;
		uint32_t number;

		if (!tid) {
			*label = 0;
			continue;
		}
		number = word_index_add(&known, (uint64_t)tid << 1 | last[index], &is_new);
		error = number == UINT32_MAX ? &hs_error_no_memory : ARRAY_RESERVE(numbers, number + 1u, &room);
		if (!error && is_new)
			error = add_text(&texts, thread_text(last[index] ? thread_names_find(names, tid) : NULL, tid),
					 &numbers[number]);
		if (!error)
			*label = numbers[number];
	}
	word_index_deinit(&known);
	return error;
}

// Owned by the caller; NULL = no memory.
static char *kind_text(const struct hook_record *hook)
{
	const char *operator= operator_name(hook->name);
	HS_CLEANUP_FREE char *name = strndup(hook->name, sizeof(hook->name));

	if (operator)
		return strdup(operator);
	return name ? hs_printable(name) : NULL;
}

// The base name of the file; "" where that is not known. Likewise.
static char *allocator_text(const struct table_view *view, const struct hook_record *hook)
{
	const struct module_record *module = table_module(view, hook->module);
	HS_CLEANUP_FREE char *path = NULL;
	const char *text = "", *slash;
	size_t size = 0;

	if (module)
		text = table_module_path(view, module, &size);
	path = strndup(text, size);
	slash = path ? strrchr(path, '/') : NULL;
	return path ? hs_printable(slash ? slash + 1 : path) : NULL;
}

// `text` is as of add_text, "" = nothing is said.
static struct hs_error *add_some_text(struct texts *texts, char *text, uint32_t *ret)
{
	if (text && !*text) {
		free(text);
		return NULL;
	}
	return add_text(texts, text, ret);
}

struct hs_error *label_texts_hooks(const struct table_view *view, struct heap_profile *profile)
{
	struct texts texts = texts_of(profile);
	struct {
		bool is_made[2];
		uint32_t number[2]; // of the kind and the allocator, + 1
	} *known = calloc(HS_HOOKS_MAX, sizeof(*known));
	struct hs_error *error = known ? NULL : &hs_error_no_memory;

	for (size_t i = 0; i < 2 * profile->sample_count && !error; i++) {
		struct profile_labels *labels = &profile->samples[i / 2].labels;
		const bool is_kind = i % 2 == 0;
		uint32_t *label = is_kind ? &labels->kind : &labels->allocator;
		const uint32_t index = *label - 1;
		const struct hook_record *hook = *label ? table_hook(view, index) : NULL;

		*label = 0;
		if (!hook || index >= HS_HOOKS_MAX)
			continue;
		if (!known[index].is_made[is_kind])
			error = add_some_text(&texts, is_kind ? kind_text(hook) : allocator_text(view, hook),
					      &known[index].number[is_kind]);
		known[index].is_made[is_kind] = true;
		*label = known[index].number[is_kind];
	}
	free(known);
	return error;
}

// The operator that is the outermost of the allocator's innermost frames; NULL = there is none.
static const char *operator_of(const struct heap_profile *profile, const struct profile_sample *sample)
{
	const char *found = NULL;

	for (uint32_t i = 0; i < sample->frame_count; i++) {
		const struct profile_location *location = &profile->locations[profile->frames[sample->first_frame + i]];
		const char *name;

		if (!location->is_allocator || !location->line_count)
			return found;
		name = operator_name(
			profile->functions[profile->lines[location->first_line + location->line_count - 1].function]
				.system_name);
		found = name ? name : found;
	}
	return found;
}

struct hs_error *label_texts_operators(struct heap_profile *profile)
{
	struct texts texts = texts_of(profile);
	uint32_t numbers[2] = { 0 }; // of new, and of new[], + 1; 0 = not there yet
	struct hs_error *error = NULL;

	for (size_t i = 0; i < profile->sample_count && !error; i++) {
		uint32_t *label = &profile->samples[i].labels.kind, *number;
		const char *name = *label ? operator_of(profile, &profile->samples[i]) : NULL;

		if (!name || strcmp(profile->label_texts[*label - 1], name) == 0)
			continue;
		number = &numbers[strcmp(name, operator_name("_Zna")) == 0];
		if (!*number)
			error = add_text(&texts, strdup(name), number);
		*label = *number;
	}
	return error;
}
