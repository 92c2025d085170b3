// SPDX-License-Identifier: Apache-2.0
#include "proto/pprof/sample_kinds.h"

#include "base/cleanup.h"
#include "base/printable.h"
#include "proto/pprof/message_reader.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

// How types are called, for each kind the best first.
static const struct {
	const char *name;
	enum sample_kind kind;
	bool is_bytes;
} names[] = {
	{ "alloc_objects", SAMPLE_ALLOC_OBJECTS, false }, { "alloc_space", SAMPLE_ALLOC_BYTES, true },
	{ "inuse_objects", SAMPLE_LIVE_OBJECTS, false },  { "inuse_space", SAMPLE_LIVE_BYTES, true },
	{ "objects", SAMPLE_LIVE_OBJECTS, false },        { "space", SAMPLE_LIVE_BYTES, true },
	{ "temporary_objects", SAMPLE_TEMPORARY, false },
};

static const char *const byte_units[] = { "bytes", "byte", "b", "B", "" };

// Of types in a message: how many, and how many bytes of each.
enum { TOLD_TYPES = 6, TOLD_BYTES = 24 };

struct hs_error *sample_kinds_init(struct sample_kinds *kinds, uint64_t count)
{
	*kinds = (struct sample_kinds){ .types = calloc(count ? count : 1, sizeof(*kinds->types)) };
	for (int kind = 0; kind < SAMPLE_KINDS; kind++)
		kinds->type_of[kind] = UINT64_MAX;
	return kinds->types ? NULL : &hs_error_no_memory;
}

void sample_kinds_deinit(struct sample_kinds *kinds)
{
	free(kinds->types);
	*kinds = (struct sample_kinds){ 0 };
}

struct hs_error *sample_kinds_add(struct sample_kinds *kinds, struct byte_cursor message)
{
	struct message_numbers numbers = { .known = PPROF_VALUE_TYPE_NUMBERS };
	struct hs_error *error = message_read(message, message_take_number, &numbers);

	if (!error)
		kinds->types[kinds->count++] = (struct sample_type){ numbers.of[1], numbers.of[2] };
	return error;
}

static bool is_byte_unit(const struct byte_cursor *unit)
{
	for (size_t i = 0; i < sizeof(byte_units) / sizeof(byte_units[0]); i++)
		if (wire_text_is(unit, byte_units[i]))
			return true;
	return false;
}

// "a/count, b/bytes, ...": what is not printable is escaped.
static struct hs_error *refuse_types(const struct sample_kinds *kinds, const struct byte_cursor *strings)
{
	char list[TOLD_TYPES * (2 * TOLD_BYTES + 3) + 4] = "";
	size_t at = 0;

	for (size_t i = 0; i < kinds->count && i < TOLD_TYPES; i++) {
		const struct byte_cursor *name = &strings[kinds->types[i].name], *unit = &strings[kinds->types[i].unit];
		size_t name_size = byte_cursor_left(name), unit_size = byte_cursor_left(unit);

		at += (size_t)snprintf(
			list + at, sizeof(list) - at, "%s%.*s/%.*s", i > 0 ? ", " : "",
			(int)(name_size < TOLD_BYTES ? name_size : TOLD_BYTES), (const char *)name->position,
			(int)(unit_size < TOLD_BYTES ? unit_size : TOLD_BYTES), (const char *)unit->position);
	}
	if (kinds->count > TOLD_TYPES)
		snprintf(list + at, sizeof(list) - at, ", …");

	HS_CLEANUP_FREE char *printable = hs_printable(list);

	if (!printable)
		return &hs_error_no_memory;
	return hs_error_create(HS_ERROR_BAD_DATA,
			       "its sample types are %s; only heap profiles are read (inuse_space, alloc_space, space "
			       "and their objects)",
			       *printable ? printable : "none");
}

struct hs_error *sample_kinds_choose(struct sample_kinds *kinds, const struct byte_cursor *strings, size_t string_count)
{
	bool is_any = false;

	for (size_t i = 0; i < kinds->count; i++)
		if (kinds->types[i].name >= string_count || kinds->types[i].unit >= string_count)
			return message_error();
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		uint64_t *type = &kinds->type_of[names[i].kind];

		for (size_t j = 0; j < kinds->count && *type == UINT64_MAX; j++)
			if (wire_text_is(&strings[kinds->types[j].name], names[i].name) &&
			    (!names[i].is_bytes || is_byte_unit(&strings[kinds->types[j].unit])))
				*type = j;
		is_any |= *type != UINT64_MAX && names[i].kind != SAMPLE_TEMPORARY;
	}
	return is_any ? NULL : refuse_types(kinds, strings);
}
