// SPDX-License-Identifier: Apache-2.0
#include "views/drop_frames.h"

#include "base/cleanup.h"
#include "views/drop_regex.h"
#include "views/frame_patterns.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Of wrappers that were found by their code.
enum { WRAPPERS_MOST = 256 };

// Of names to be kept, for each pattern: a megabyte of names of one template would be more than the stacks.
enum { KEPT_BYTES_MOST = 1 << 14 };

struct search {
	const struct named_profile *named;
	const struct frame_pattern **rows; // of functions[i]: what drop_regex_make's expression may match; NULL = none
	bool *is_seen, *is_kept;           // of functions[i]
	bool *is_wrapper;                  // of functions[i]: by its code, and no row knows it
	bool *wanted;                      // of frame_patterns[i]
	uint32_t *stack;                   // places, with room for the longest
	size_t stack_room;
};

static void search_deinit(struct search *search)
{
	free(search->rows);
	free(search->is_seen);
	free(search->is_kept);
	free(search->is_wrapper);
	free(search->wanted);
	free(search->stack);
}

static struct hs_error *search_init(struct search *ret, const struct named_profile *named)
{
	const size_t count = named->profile->function_count + 1;

	*ret = (struct search){ .named = named };
	for (size_t i = 0; i < named->profile->sample_count; i++) {
		const size_t size = named_stack(named, &named->profile->samples[i], NULL, 0);

		ret->stack_room = size > ret->stack_room ? size : ret->stack_room;
	}
	ret->rows = calloc(count, sizeof(*ret->rows));
	ret->is_seen = calloc(count, sizeof(*ret->is_seen));
	ret->is_kept = calloc(count, sizeof(*ret->is_kept));
	ret->is_wrapper = calloc(count, sizeof(*ret->is_wrapper));
	ret->wanted = calloc(frame_pattern_count, sizeof(*ret->wanted));
	ret->stack = calloc(ret->stack_room + 1, sizeof(*ret->stack));
	return ret->rows && ret->is_seen && ret->is_kept && ret->is_wrapper && ret->wanted && ret->stack
		       ? NULL
		       : &hs_error_no_memory;
}

static void find_rows(struct search *search)
{
	const struct named_profile *named = search->named;

	for (size_t i = 0; i < named->place_count; i++) {
		const uint32_t function = named->places[i].function;

		if (function == UINT32_MAX)
			continue;
		search->is_wrapper[function] |= named->places[i].judgement.why == frame_why_structure;
		if (search->is_seen[function])
			continue;
		search->is_seen[function] = true;
		const struct frame_pattern *row =
			frame_rules_pattern(named->rules, named->profile->functions[function].name);

		search->rows[function] = row && drop_regex_takes(row) ? row : NULL;
	}
}

static void find_kept(struct search *search)
{
	const struct named_profile *named = search->named;

	for (size_t i = 0; i < named->profile->sample_count; i++) {
		const size_t count = named_stack(named, &named->profile->samples[i], search->stack, search->stack_room);
		bool is_hidden = true; // all that is called from here

		for (size_t frame = 0; frame < count; frame++) {
			const struct code_place *place = place_of(named, search->stack[frame]);

			is_hidden = is_hidden && frame_class_is_plumbing(place->judgement.class);
			if (!is_hidden && place->function != UINT32_MAX)
				search->is_kept[place->function] = true;
		}
	}
}

// The size of a function's name as pprof compares it (profile/prune.go, simplifyFunc): without the dot of the POWER
// ABI, up to the first bracket that is neither of "(anonymous namespace)" nor of "operator()".
static size_t simplified(const char **name)
{
	static const char anonymous[] = "(anonymous namespace)", call[] = "operator()";
	const char *at;

	*name += **name == '.';
	for (at = *name; *at; at++) {
		if (strncmp(at, anonymous, sizeof(anonymous) - 1) == 0)
			at += sizeof(anonymous) - 2;
		else if (strncmp(at, call, sizeof(call) - 1) == 0)
			at += sizeof(call) - 2;
		else if (*at == '(')
			break;
	}
	return (size_t)(at - *name);
}

static void count_wanted(struct search *search, size_t *kept_bytes)
{
	const struct heap_profile *profile = search->named->profile;

	for (size_t i = 0; i < profile->function_count; i++) {
		const char *name = profile->functions[i].name;

		if (!search->rows[i])
			continue;
		size_t row = (size_t)(search->rows[i] - frame_patterns);

		search->wanted[row] |= !search->is_kept[i];
		kept_bytes[row] += search->is_kept[i] ? simplified(&name) : 0;
	}
	for (size_t row = 0; row < frame_pattern_count; row++)
		search->wanted[row] &= kept_bytes[row] <= KEPT_BYTES_MOST;
}

static void put_quoted(FILE *file, const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (strchr(".+*?()[]{}^$|\\", text[i]))
			fputc('\\', file);
		fputc(text[i], file);
	}
}

// NULL when none is to be kept.
static struct hs_error *make_keep(const struct search *search, char **ret)
{
	const struct heap_profile *profile = search->named->profile;
	HS_CLEANUP_FREE char *text = NULL;
	size_t size, count = 0;
	FILE *file = open_memstream(&text, &size);

	if (!file)
		return &hs_error_no_memory;
	for (size_t i = 0; i < profile->function_count; i++) {
		const char *name = profile->functions[i].name;

		if (!search->rows[i] || !search->is_kept[i] || !search->wanted[search->rows[i] - frame_patterns])
			continue;
		const size_t length = simplified(&name);

		fputs(count++ ? "|" : "", file);
		put_quoted(file, name, length);
	}
	const bool failed = ferror(file) != 0;

	if (fclose(file) != 0 || failed)
		return &hs_error_no_memory;
	*ret = count ? HS_STEAL_POINTER(text) : NULL;
	return NULL;
}

// Whether pprof would call another function the same, which is not to go.
static bool has_namesake(const struct search *search, size_t wrapper)
{
	const struct heap_profile *profile = search->named->profile;
	const char *name = profile->functions[wrapper].name;
	const size_t size = simplified(&name);

	for (size_t i = 0; i < profile->function_count; i++) {
		const char *other = profile->functions[i].name;

		if ((!search->is_wrapper[i] || search->is_kept[i]) && simplified(&other) == size &&
		    memcmp(name, other, size) == 0)
			return true;
	}
	return false;
}

// Adds the wrappers that were found by their code to `ret`, by name.
static struct hs_error *add_wrappers(const struct search *search, char **ret)
{
	const struct heap_profile *profile = search->named->profile;
	size_t size, count = 0;
	HS_CLEANUP_FREE char *text = NULL;
	FILE *file = open_memstream(&text, &size);

	if (!file)
		return &hs_error_no_memory;
	if (*ret)
		fputs(*ret, file);
	for (size_t i = 0; i < profile->function_count && count < WRAPPERS_MOST; i++) {
		const char *name = profile->functions[i].name;

		if (!search->is_wrapper[i] || has_namesake(search, i))
			continue;
		const size_t length = simplified(&name);

		fputs(count++ || *ret ? "|" : "", file);
		put_quoted(file, name, length);
	}
	const bool failed = ferror(file) != 0;

	if (fclose(file) != 0 || failed)
		return &hs_error_no_memory;
	if (count) {
		free(*ret);
		*ret = HS_STEAL_POINTER(text);
	}
	return NULL;
}

static bool any(const bool *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (values[i])
			return true;
	return false;
}

static struct hs_error *make(struct search *search, struct drop_frames *ret)
{
	HS_CLEANUP_FREE size_t *kept_bytes = calloc(frame_pattern_count, sizeof(*kept_bytes));

	if (!kept_bytes)
		return &hs_error_no_memory;
	find_rows(search);
	find_kept(search);
	count_wanted(search, kept_bytes);
	struct hs_error *error = NULL;

	if (any(search->wanted, frame_pattern_count)) {
		error = make_keep(search, &ret->keep);
		if (!error)
			error = drop_regex_make(search->wanted, &ret->drop);
	}
	return error ? error : add_wrappers(search, &ret->drop);
}

struct hs_error *drop_frames_make(const struct named_profile *named, struct drop_frames *ret)
{
	struct search search;
	struct hs_error *error = search_init(&search, named);

	*ret = (struct drop_frames){ .drop = NULL };
	if (!error)
		error = make(&search, ret);
	search_deinit(&search);
	if (error)
		drop_frames_deinit(ret);
	return error;
}

void drop_frames_deinit(struct drop_frames *frames)
{
	free(frames->drop);
	free(frames->keep);
	*frames = (struct drop_frames){ .drop = NULL };
}
