// SPDX-License-Identifier: Apache-2.0
#include "snapshot/dwarf/function_index.h"

#include "base/array.h"
#include "snapshot/dwarf/constants.h"
#include "snapshot/dwarf/pc_ranges.h"

#include <stdlib.h>

static struct hs_error *add_function(struct function_index *index, const struct die *die)
{
	const size_t ranges_before = index->ranges.count;
	struct pc_attributes code = { 0 };
	struct hs_error *error;

	for (struct die_attributes attributes = die_attributes_of(die); die_attributes_next(&attributes);)
		if (!pc_attributes_set(&code, &attributes))
			die_attributes_skip(&attributes);
	error = pc_ranges_add(die->unit, &code, &index->ranges, index->count);
	if (error || index->ranges.count == ranges_before)
		return error;
	if (ARRAY_RESERVE(index->entries, index->count + 1, &index->room))
		return &hs_error_no_memory;
	index->entries[index->count++] = die->offset;
	return NULL;
}

// What is below has no code of its own but what the function around it has; most of a function's entries are such.
static bool holds_no_functions(uint16_t tag)
{
	return tag == DW_TAG_inlined_subroutine || tag == DW_TAG_call_site || tag == DW_TAG_GNU_call_site ||
	       tag == DW_TAG_enumeration_type || tag == DW_TAG_subroutine_type || tag == DW_TAG_array_type;
}

static bool holds_functions_only(uint16_t tag) { return tag == DW_TAG_namespace || tag == DW_TAG_module; }

// The functions that are not inside a type or another function, or only those that are.
static struct hs_error *add_functions(struct function_index *index, struct debug_unit *unit, bool inside)
{
	struct hs_error *error = debug_unit_open(unit);
	const size_t ranges_before = index->ranges.count;
	size_t outer_depth = 0; // how deep the walk is in what holds only functions and the like
	const struct die *die;
	struct die_walk walk;
	struct die first;

	if (error || !die_at(unit, unit->first_entry, &first))
		return error;
	walk = die_walk_below(&first);
	while (!error && (die = die_walk_next(&walk))) {
		const uint16_t tag = die->abbreviation->tag;
		const bool is_outer = walk.depth <= outer_depth + 1;

		if (walk.depth <= outer_depth)
			outer_depth = walk.depth - 1;
		// declarations and abstract functions have no code
		if (tag == DW_TAG_subprogram && is_outer != inside && die->abbreviation->has_code)
			error = add_function(index, die);
		if (!die->abbreviation->has_children)
			continue;
		if (is_outer && holds_functions_only(tag))
			outer_depth = walk.depth;
		else if (!inside || holds_no_functions(tag))
			die_walk_leave(&walk);
	}
	if (index->ranges.count > ranges_before)
		range_index_sort(&index->ranges);
	return error;
}

// Compilers describe code outside of types, but need not; and types are most of a unit of C++, so these are gone
// through only where the others do not hold the address.
struct hs_error *function_index_find(struct function_index *index, struct debug_unit *unit, uint64_t address,
				     struct die *ret, bool *found_ret)
{
	struct hs_error *error = NULL;
	size_t number;

	*found_ret = false;
	if (!index->has_outer) {
		error = add_functions(index, unit, false);
		index->has_outer = !error;
	}
	if (!error && !index->has_all && !range_index_find(&index->ranges, address, &number)) {
		error = add_functions(index, unit, true);
		index->has_all = !error;
	}
	if (!error && range_index_find(&index->ranges, address, &number))
		*found_ret = die_at(unit, index->entries[number], ret);
	return error;
}

void function_index_deinit(struct function_index *index)
{
	range_index_deinit(&index->ranges);
	free(index->entries);
	*index = (struct function_index){ 0 };
}

static struct hs_error *add_call(struct inlined_calls *calls, const struct die *die, size_t outer)
{
	struct inlined_call call = { .entry = die->offset, .outer = outer };
	struct pc_attributes code = { 0 };

	for (struct die_attributes attributes = die_attributes_of(die); die_attributes_next(&attributes);) {
		if (pc_attributes_set(&code, &attributes))
			continue;
		if (attributes.name == DW_AT_abstract_origin) {
			call.origin = die_attributes_read(&attributes);
		} else if (attributes.name == DW_AT_call_line) {
			call.line = die_attributes_read(&attributes).number;
		} else if (attributes.name == DW_AT_call_file) {
			call.file_number = die_attributes_read(&attributes).number;
			call.has_file = true;
		} else {
			die_attributes_skip(&attributes);
		}
	}
	if (ARRAY_RESERVE(calls->items, calls->count + 1, &calls->room))
		return &hs_error_no_memory;
	calls->items[calls->count] = call;
	return pc_ranges_add(die->unit, &code, &calls->ranges, calls->count++);
}

static bool holds_calls(uint16_t tag)
{
	return tag == DW_TAG_lexical_block || tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
}

static struct hs_error *read_calls(struct inlined_calls *calls, const struct die *function)
{
	struct {
		size_t call, depth; // index into items, and how deep its entry is
	} open[INLINED_DEPTH_MAX];
	size_t open_count = 0;
	struct die_walk walk = die_walk_below(function);
	struct hs_error *error = NULL;
	const struct die *die;

	while (!error && (die = die_walk_next(&walk))) {
		const uint16_t tag = die->abbreviation->tag;

		while (open_count > 0 && walk.depth <= open[open_count - 1].depth)
			open_count--;
		if (tag == DW_TAG_inlined_subroutine && open_count < INLINED_DEPTH_MAX) {
			error = add_call(calls, die, open_count > 0 ? open[open_count - 1].call : NO_INLINED_CALL);
			open[open_count].call = calls->count - 1;
			open[open_count++].depth = walk.depth;
		} else if (die->abbreviation->has_children && !holds_calls(tag)) {
			die_walk_leave(&walk);
		}
	}
	range_index_sort(&calls->ranges);
	return error;
}

// Ranges of calls inside one another begin where the outer one does, or later, so the one that is found is the
// innermost; of equal ones it is the one that was added last.
struct hs_error *inlined_calls_find(struct inlined_calls *calls, const struct die *function, uint64_t address,
				    size_t *ret)
{
	struct hs_error *error = NULL;

	if (!inlined_calls_are_of(calls, function)) {
		calls->count = calls->ranges.count = 0;
		calls->function = (struct die){ 0 };
		error = read_calls(calls, function);
		if (!error)
			calls->function = *function;
	}
	if (error || !range_index_find(&calls->ranges, address, ret))
		*ret = NO_INLINED_CALL;
	return error;
}

void inlined_calls_deinit(struct inlined_calls *calls)
{
	free(calls->items);
	range_index_deinit(&calls->ranges);
	*calls = (struct inlined_calls){ 0 };
}
