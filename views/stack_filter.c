// SPDX-License-Identifier: Apache-2.0
#include "views/stack_filter.h"

#include "base/array.h"
#include "views/key_table.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

struct filter_regex {
	enum stack_filter_kind kind;
	regex_t regex;
};

struct stack_filter {
	struct filter_regex *items;
	size_t count, room;
	bool has_focus;
	int flags; // of regcomp, beside the others
};

// Of a text, place or location: which kinds of expressions match it, a bit (1 << kind) each.
typedef uint8_t match_bits;

struct matcher {
	const struct stack_filter *filter;
	struct key_table texts; // each distinct text is searched once
	match_bits *of_text;
	size_t room;
};

struct hs_error *stack_filter_create(struct stack_filter **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? NULL : &hs_error_no_memory;
}

void stack_filter_destroy(struct stack_filter *filter)
{
	if (!filter)
		return;
	for (size_t i = 0; i < filter->count; i++)
		regfree(&filter->items[i].regex);
	free(filter->items);
	free(filter);
}

void stack_filter_ignore_case(struct stack_filter *filter, bool is_ignored)
{
	filter->flags = is_ignored ? REG_ICASE : 0;
}

struct hs_error *stack_filter_add(struct stack_filter *filter, enum stack_filter_kind kind, const char *regex,
				  const char *origin)
{
	struct hs_error *error = ARRAY_RESERVE(filter->items, filter->count + 1, &filter->room);
	struct filter_regex item = { .kind = kind };
	char reason[128];
	int status;

	if (error)
		return error;
	status = regcomp(&item.regex, regex, REG_EXTENDED | REG_NOSUB | filter->flags);
	if (status == REG_ESPACE)
		return &hs_error_no_memory;
	if (status) {
		regerror(status, &item.regex, reason, sizeof(reason));
		return hs_error_create(HS_ERROR_BAD_DATA, "%s: '%s' is not a regular expression: %s", origin, regex,
				       reason);
	}
	filter->items[filter->count++] = item;
	filter->has_focus |= kind == STACK_FOCUS;
	return NULL;
}

static struct hs_error *search(const struct stack_filter *filter, const char *text, match_bits *ret)
{
	*ret = 0;
	for (size_t i = 0; i < filter->count; i++) {
		const struct filter_regex *item = &filter->items[i];
		const match_bits bit = (match_bits)(1U << item->kind);
		int status = *ret & bit ? REG_NOMATCH : regexec(&item->regex, text, 0, NULL, 0);

		if (status == REG_ESPACE)
			return &hs_error_no_memory;
		if (status == 0)
			*ret |= bit;
	}
	return NULL;
}

// Adds the bits of a text.
static struct hs_error *match_text(struct matcher *matcher, const char *text, match_bits *bits)
{
	uint32_t number = 0;
	bool is_new = false;
	struct hs_error *error = key_add_text(&matcher->texts, text);

	if (!error)
		error = key_number(&matcher->texts, &number, &is_new);
	if (!error)
		error = ARRAY_RESERVE(matcher->of_text, (size_t)number + 1, &matcher->room);
	if (!error && is_new)
		error = search(matcher->filter, text, &matcher->of_text[number]);
	if (!error)
		*bits |= matcher->of_text[number];
	return error;
}

static struct hs_error *match_places(const struct stack_filter *filter, const struct named_profile *named,
				     match_bits *bits)
{
	struct matcher matcher = { .filter = filter };
	struct hs_error *error = NULL;

	for (size_t i = 0; i < named->place_count && !error; i++) {
		const struct code_place *place = &named->places[i];
		const char *const texts[] = { place->full_name, place->name, place->file, place->module };

		for (size_t j = 0; j < sizeof(texts) / sizeof(texts[0]) && !error; j++)
			error = match_text(&matcher, texts[j], &bits[i]);
	}
	key_table_deinit(&matcher.texts);
	free(matcher.of_text);
	return error;
}

static bool is_kept(const struct stack_filter *filter, const struct heap_profile *profile,
		    const struct profile_sample *sample, const match_bits *of_location)
{
	const uint32_t *frames = profile->frames + sample->first_frame;
	unsigned bits = 0;

	for (uint32_t i = 0; i < sample->frame_count; i++)
		bits |= of_location[frames[i]];
	return !(bits & 1U << STACK_IGNORE) && (!filter->has_focus || (bits & 1U << STACK_FOCUS));
}

struct hs_error *stack_filter_apply(const struct stack_filter *filter, const struct named_profile *named,
				    bool **kept_ret)
{
	const struct heap_profile *profile = named->profile;
	match_bits *of_place = calloc(named->place_count + 1, sizeof(*of_place));
	match_bits *of_location = calloc(profile->location_count + 1, sizeof(*of_location));
	bool *kept = calloc(profile->sample_count + 1, sizeof(*kept));
	struct hs_error *error = &hs_error_no_memory;

	if (of_place && of_location && kept)
		error = match_places(filter, named, of_place);
	for (size_t i = 0; i < profile->location_count && !error; i++)
		for (uint32_t j = named->first_place[i]; j < named->first_place[i + 1]; j++)
			of_location[i] |= of_place[named->location_places[j]];
	for (size_t i = 0; i < profile->sample_count && !error; i++)
		kept[i] = is_kept(filter, profile, &profile->samples[i], of_location);
	free(of_place);
	free(of_location);
	if (error)
		free(kept);
	else
		*kept_ret = kept;
	return error;
}
