// SPDX-License-Identifier: Apache-2.0
// A profile with what its code is called, and which of it is the user's own. Pure.
//
// A place is one line of one function, or code without a name. A location is one or more of them: its inlined functions
// first. So a stack of locations becomes a list of places:
//
//   sample.frames      location 7            location 2
//   location_places    [ 12, 13 ]            [ 4 ]
//   places             vector::push_back:99  Cache::put:18  main:40
#ifndef HEAPSNAP_VIEWS_NAMED_PROFILE_H
#define HEAPSNAP_VIEWS_NAMED_PROFILE_H

#include "base/error.h"
#include "snapshot/heap_profile.h"
#include "views/frame_rules.h"

#include <stddef.h>
#include <stdint.h>

struct code_place {
	const char *name; // short; "module+0x1234" without a symbol, "near NAME+0x12 in module" of a guess
	// Demangled, whole; the same without a symbol, "near NAME+0x12 in module+0x1234" of a guess.
	const char *full_name;
	const char *file;   // "" = unknown
	const char *module; // base name of the loaded object; "" = unknown
	int64_t line;       // 0 = unknown
	uint32_t function;  // index into the profile's functions; UINT32_MAX = no symbol, or a guess
	struct frame_judgement judgement;
};

struct named_profile {
	const struct heap_profile *profile; // borrowed
	const struct frame_rules *rules;    // that named it; borrowed
	struct code_place *places;
	size_t place_count;
	uint32_t *first_place;     // of locations[i], index into location_places; location_count + 1 of them
	uint32_t *location_places; // indices into places, innermost inlined function first
	char **texts;              // owned: short names and names made of addresses
	size_t text_count;
};

// *ret is owned by the caller; the profile and the rules must live as long. HS_ERROR_NO_MEMORY.
struct hs_error *named_profile_make(const struct heap_profile *profile, const struct frame_rules *rules,
				    struct named_profile *ret) HS_MUST_CHECK;
void named_profile_deinit(struct named_profile *named);

static inline const struct code_place *place_of(const struct named_profile *named, uint32_t place)
{
	return &named->places[place];
}

// The places of a sample's stack, innermost first, without the allocator's own innermost frames where others are left:
// up to `room` of them into `buffer`; returns how many there are.
size_t named_stack(const struct named_profile *named, const struct profile_sample *sample, uint32_t *buffer,
		   size_t room);

#endif
