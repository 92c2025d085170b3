// SPDX-License-Identifier: Apache-2.0
// Places that are one in a view: the lines of a function, the functions of a module. Pure.
#ifndef HEAPSNAP_VIEWS_PLACE_GROUPS_H
#define HEAPSNAP_VIEWS_PLACE_GROUPS_H

#include "views/named_profile.h"
#include "views/stack_places.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum place_unit {
	UNIT_FUNCTION, // by whole name and source file; without a file by the module
	UNIT_LINE,     // the same, and the line
	UNIT_FILE,     // source file; without one the module
	UNIT_MODULE
};

#define PLACE_NONE UINT32_MAX

struct place_groups {
	const struct named_profile *named; // borrowed
	enum place_unit unit;
	uint32_t *of_place; // owned: the group of places[i]
	uint32_t *example;  // owned: one of the places of group i; PLACE_NONE = of stacks that are not known
	size_t count;       // the last group is that of stacks without any place
};

// *ret is owned by the caller; `named` must live as long. HS_ERROR_NO_MEMORY.
struct hs_error *place_groups_make(const struct named_profile *named, enum place_unit unit,
				   struct place_groups *ret) HS_MUST_CHECK;
void place_groups_deinit(struct place_groups *groups);

// What a group is called and where it is. Texts are never NULL, "" = not known or not the same for all of it; borrowed.
struct group_text {
	const char *name;      // short name of the function, path of the file, base name of the module
	const char *full_name; // of the function
	const char *file, *module;
	int64_t line; // of UNIT_LINE; of UNIT_FUNCTION where it begins; 0 = unknown
	enum frame_class class;
};
struct group_text group_text(const struct place_groups *groups, uint32_t group);

// A bit for each class of frames; one for those that begin a program or thread, whatever their class.
static inline unsigned frame_class_bit(enum frame_class class) { return 1U << class; }
#define FRAME_START_BIT (1U << FRAME_CLASS_COUNT)
// Those of frame_class_is_plumbing.
#define FRAME_PLUMBING_BITS (1U << FRAME_ALLOCATOR | 1U << FRAME_WRAPPER | 1U << FRAME_CONTAINER)

// The groups of a sample's stack, innermost first; at least one. Places of a class in `hidden` (bits) are
// left out as long as others are left: of a stack of such places alone the innermost one stays. Runtimes are left out
// only beside own code. Files and modules that
// follow themselves are one. HS_ERROR_NO_MEMORY.
struct hs_error *stack_groups(const struct place_groups *groups, const struct profile_sample *sample, unsigned hidden,
			      struct stack_buffer *buffer) HS_MUST_CHECK;

#endif
