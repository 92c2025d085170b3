// SPDX-License-Identifier: Apache-2.0
// Several profiles in one: code that is the same in them becomes one function and location, stacks that are the same
// one stack. For differences (views/diff.h). Pure.
//
// What is the same code is told by what it is, since indices and addresses differ from process to process:
//
//   with a symbol      the functions' demangled names and source files, and the lines; without a source file the
//                      module's base name stands for it
//   without a symbol   base name and build id of the mapped file, and the offset in it; also of a guess
//   in no file         the address: it means something in one process only
#ifndef HEAPSNAP_VIEWS_PROFILE_MERGE_H
#define HEAPSNAP_VIEWS_PROFILE_MERGE_H

#include "snapshot/heap_profile.h"
#include "views/key_table.h"

enum { MERGE_SIDES = 2 };

// Labels that keep stacks apart; of all others, and without any, stacks with and without them are one.
enum merge_label { MERGE_THREAD = 1, MERGE_SIZE = 2, MERGE_AGE = 4, MERGE_KIND = 8, MERGE_ALLOCATOR = 16 };

struct merged_stack {
	struct profile_labels labels; // those that keep apart; of the merge
	struct profile_values of_side[MERGE_SIDES];
};

// Zeroed = nothing yet.
struct profile_merge {
	// mappings, modules, functions, lines, locations, texts of labels, all owned; no samples, no facts
	struct heap_profile profile;
	struct merged_stack *stacks; // owned; as many as keys in `stack_keys`
	struct key_table stack_keys; // location indices, behind them the labels
	unsigned labels;             // bits of enum merge_label; said before anything is added

	struct key_table mapping_keys, module_keys, function_keys, origin_keys, location_keys, text_keys;
	size_t mapping_room, module_room, function_room, line_room, location_room, text_room, stack_room;
};

// Adds a profile's code and stacks; where code is the same, what was added first stays. `process`: of profiles with
// the same number an address in no file means the same code. HS_ERROR_NO_MEMORY: the merge can only be freed then.
struct hs_error *profile_merge_add(struct profile_merge *merge, const struct heap_profile *profile, unsigned side,
				   unsigned process) HS_MUST_CHECK;
void profile_merge_deinit(struct profile_merge *merge);

// The location indices of a stack, innermost first; of the merge.
const uint32_t *merged_frames(const struct profile_merge *merge, size_t stack, size_t *count_ret);

#endif
