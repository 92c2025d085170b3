// SPDX-License-Identifier: Apache-2.0
// Which of a profile's sample types are which of our values. Pure.
#ifndef HEAPSNAP_PROTO_PPROF_SAMPLE_KINDS_H
#define HEAPSNAP_PROTO_PPROF_SAMPLE_KINDS_H

#include "base/byte_cursor.h"
#include "base/error.h"
#include "snapshot/heap_profile.h"

#include <stddef.h>
#include <stdint.h>

enum sample_kind {
	SAMPLE_ALLOC_OBJECTS,
	SAMPLE_ALLOC_BYTES,
	SAMPLE_LIVE_OBJECTS,
	SAMPLE_LIVE_BYTES,
	SAMPLE_TEMPORARY,
	SAMPLE_KINDS
};

struct sample_type {
	uint64_t name, unit; // indices of strings
};

struct sample_kinds {
	struct sample_type *types; // owned
	size_t count;
	uint64_t type_of[SAMPLE_KINDS]; // index into types; UINT64_MAX = none
};

// Bytes that a type takes.
enum { SAMPLE_KIND_BYTES = sizeof(struct sample_type) };

// Room for `count` of them. HS_ERROR_NO_MEMORY.
struct hs_error *sample_kinds_init(struct sample_kinds *kinds, uint64_t count) HS_MUST_CHECK;
void sample_kinds_deinit(struct sample_kinds *kinds); // zeroed ones are allowed

// The next type, a ValueType message. HS_ERROR_BAD_DATA. pre: there is room
struct hs_error *sample_kinds_add(struct sample_kinds *kinds, struct byte_cursor message) HS_MUST_CHECK;

// To be called when all types are there. Live values are inuse_objects and inuse_space, else objects and space. A type
// that counts bytes has that unit, or none. HS_ERROR_BAD_DATA: a string that is not there; no type is one of ours, and
// the message names the types.
struct hs_error *sample_kinds_choose(struct sample_kinds *kinds, const struct byte_cursor *strings,
				     size_t string_count) HS_MUST_CHECK;

// The value of a sample that has this number among its values.
static inline void sample_kinds_put(const struct sample_kinds *kinds, uint64_t number, int64_t value,
				    struct profile_values *to)
{
	if (number == kinds->type_of[SAMPLE_ALLOC_OBJECTS])
		to->alloc_objects = value;
	else if (number == kinds->type_of[SAMPLE_ALLOC_BYTES])
		to->alloc_bytes = value;
	else if (number == kinds->type_of[SAMPLE_LIVE_OBJECTS])
		to->live_objects = value;
	else if (number == kinds->type_of[SAMPLE_LIVE_BYTES])
		to->live_bytes = value;
	else if (number == kinds->type_of[SAMPLE_TEMPORARY])
		to->temporary_objects = value;
}

#endif
