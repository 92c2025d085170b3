// SPDX-License-Identifier: Apache-2.0
#include "proto/stacks/collapsed.h"

#include "base/printable.h"
#include "views/stack_places.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct collapsing {
	const struct named_profile *named;
	FILE *file;
	char **names; // of the places; NULL = not needed so far
	struct stack_buffer stack;
};

static void collapsing_deinit(struct collapsing *collapsing)
{
	for (size_t i = 0; collapsing->names && i < collapsing->named->place_count; i++)
		free(collapsing->names[i]);
	free(collapsing->names);
	stack_buffer_deinit(&collapsing->stack);
}

// The blank before the number that a name ends with; NULL = it does not.
static char *blank_before_number(char *name)
{
	char *at = name + strlen(name);

	while (at > name && (isdigit((unsigned char)at[-1]) || at[-1] == '.'))
		at--;
	return *at && at > name && at[-1] == ' ' ? at - 1 : NULL;
}

// The name of a place as it is written; owned by `collapsing`. NULL without memory.
static const char *name_of_place(struct collapsing *collapsing, uint32_t place)
{
	char **name = &collapsing->names[place], *blank;

	if (*name)
		return *name;
	*name = hs_printable(place_of(collapsing->named, place)->full_name);
	if (!*name)
		return NULL;
	for (char *at = *name; *at; at++)
		if (*at == ';')
			*at = ':';
	blank = blank_before_number(*name);
	if (blank)
		*blank = '_';
	return *name;
}

static struct hs_error *write_stack(struct collapsing *collapsing, const struct profile_sample *sample)
{
	const struct stack_buffer *stack = &collapsing->stack;
	struct hs_error *error = stack_places(collapsing->named, sample, &collapsing->stack);

	if (error)
		return error;
	for (size_t i = stack->count; i > 0; i--) {
		const char *name = name_of_place(collapsing, stack->items[i - 1]);

		if (!name)
			return &hs_error_no_memory;
		fprintf(collapsing->file, "%s%s", *name ? name : "[unknown]", i > 1 ? ";" : "");
	}
	fprintf(collapsing->file, "%s %" PRId64 "\n", stack->count ? "" : "[stack unknown]", sample->values.live_bytes);
	return NULL;
}

// Of stacks with one frame or none, which have no semicolon, or of all others.
static struct hs_error *write_stacks(struct collapsing *collapsing, bool are_short)
{
	const struct named_profile *named = collapsing->named;
	struct hs_error *error = NULL;

	for (size_t i = 0; i < named->profile->sample_count && !error; i++) {
		const struct profile_sample *sample = &named->profile->samples[i];

		if (sample->values.live_bytes > 0 && (named_stack(named, sample, NULL, 0) < 2) == are_short)
			error = write_stack(collapsing, sample);
	}
	return error;
}

struct hs_error *collapsed_write(const struct named_profile *named, FILE *file)
{
	struct collapsing collapsing = { .named = named, .file = file };
	struct hs_error *error = NULL;

	collapsing.names = calloc(named->place_count + 1, sizeof(*collapsing.names));
	if (!collapsing.names)
		return &hs_error_no_memory;
	error = write_stacks(&collapsing, false);
	if (!error)
		error = write_stacks(&collapsing, true);
	collapsing_deinit(&collapsing);
	return error;
}
