// SPDX-License-Identifier: Apache-2.0
// Units are indexed once, the functions of a unit when it is first asked. Inlined calls are kept of the function alone
// that is asked at present: addresses come in order.
#include "snapshot/symbols/debug_units.h"

#include "base/array.h"
#include "snapshot/dwarf/constants.h"
#include "snapshot/dwarf/function_index.h"
#include "snapshot/dwarf/function_origin.h"
#include "snapshot/dwarf/line_table.h"
#include "snapshot/dwarf/pc_ranges.h"
#include "snapshot/symbols/demangle.h"

#include <stdlib.h>

_Static_assert((int)INLINED_DEPTH_MAX < (int)DEBUG_FRAMES_LIMIT, "the function itself needs a frame too");

// A function that was inlined somewhere, usually more than once.
struct inlined_function {
	enum form_class class; // where its entry is
	uint64_t offset;
	struct debug_frame frame;
};

struct debug_units {
	struct debug_file file, shared;
	struct range_index ranges;        // value: index into file.units
	struct function_index *functions; // of each unit
	struct inlined_calls calls;
	struct debug_frame frame; // of the function that `calls` is of
	struct inlined_function *inlined;
	size_t inlined_count, inlined_room;
	struct hash_table inlined_places; // of `inlined`, by offset and class
};

struct hs_error *debug_units_create(const struct debug_sections *sections, const struct debug_sections *shared,
				    struct debug_units **ret)
{
	struct debug_units *units = calloc(1, sizeof(*units));
	struct hs_error *error = units ? NULL : &hs_error_no_memory;

	if (!error && shared)
		error = debug_file_init(shared, NULL, &units->shared);
	if (!error)
		error = debug_file_init(sections, shared ? &units->shared : NULL, &units->file);
	for (size_t i = 0; !error && i < units->file.unit_count; i++) {
		const struct debug_unit *unit = &units->file.units[i];

		if (unit->tag == DW_TAG_compile_unit || unit->tag == DW_TAG_skeleton_unit)
			error = pc_ranges_add(unit, &unit->code, &units->ranges, i);
	}
	if (!error) {
		units->functions = calloc(units->file.unit_count + 1, sizeof(*units->functions));
		error = units->functions ? NULL : &hs_error_no_memory;
	}
	if (error) {
		debug_units_destroy(units);
		return error;
	}
	range_index_sort(&units->ranges);
	*ret = units;
	return NULL;
}

void debug_units_destroy(struct debug_units *units)
{
	if (!units)
		return;
	for (size_t i = 0; units->functions && i < units->file.unit_count; i++)
		function_index_deinit(&units->functions[i]);
	free(units->functions);
	inlined_calls_deinit(&units->calls);
	free(units->inlined);
	hash_table_deinit(&units->inlined_places);
	range_index_deinit(&units->ranges);
	debug_file_deinit(&units->file);
	debug_file_deinit(&units->shared);
	free(units);
}

static int64_t line_number(uint64_t line) { return line <= INT32_MAX ? (int64_t)line : 0; }

// Name and start of the function of a subprogram or inlined call; the file is that of the declaration until the line is
// known. A linkage name that says less than the plain name is left out: C functions have one when their symbol is
// renamed (glibc's strdup is __GI___strdup).
static struct hs_error *read_frame(const struct die *die, struct debug_frame *ret)
{
	struct function_origin origin;
	struct hs_error *error = function_origin_read(die, &origin);

	if (error)
		return error;

	const bool is_linkage = origin.linkage_name && is_mangled(origin.linkage_name);

	*ret = (struct debug_frame){
		.has_linkage_name = is_linkage,
		.system_name = is_linkage ? origin.linkage_name : origin.name,
		.file = origin.file,
		.start_line = line_number(origin.line),
	};
	return NULL;
}

static struct hs_error *read_frame_at(struct debug_unit *unit, uint64_t entry, struct debug_frame *ret)
{
	struct die die;

	*ret = (struct debug_frame){ 0 };
	return die_at(unit, entry, &die) ? read_frame(&die, ret) : NULL;
}

static bool is_inlined(const void *elements, uint32_t number, const void *wanted)
{
	const struct inlined_function *have = (const struct inlined_function *)elements + number;
	const struct form_value *want = wanted;

	return have->offset == want->number && have->class == want->class;
}

// Of an inlined call of a unit.
static struct hs_error *read_call_frame(struct debug_units *units, struct debug_unit *unit,
					const struct inlined_call *call, struct debug_frame *ret)
{
	const struct form_value *origin = &call->origin;
	struct hs_error *error = NULL;

	if (origin->class == FORM_UNKNOWN) // there is nothing by which it could be found again
		return read_frame_at(unit, call->entry, ret);
	if (hash_table_reserve(&units->inlined_places) ||
	    ARRAY_RESERVE(units->inlined, units->inlined_count + 1, &units->inlined_room))
		return &hs_error_no_memory;

	const uint64_t hash = hash_table_word_hash(&units->inlined_places, origin->number);
	struct hash_slot *slot = hash_table_find(&units->inlined_places, hash, is_inlined, units->inlined, origin);

	if (!hash_slot_is_used(slot)) {
		struct inlined_function *item = &units->inlined[units->inlined_count];

		*item = (struct inlined_function){ .class = origin->class, .offset = origin->number };
		error = read_frame_at(unit, call->entry, &item->frame);
		if (error)
			return error;
		hash_table_put(&units->inlined_places, slot, hash, (uint32_t)units->inlined_count++);
	}
	*ret = units->inlined[hash_slot_number(slot)].frame;
	return NULL;
}

// Where the inlined call stands in the function that it is inlined into.
static struct hs_error *set_place_of_call(struct debug_frame *frame, struct debug_unit *unit,
					  const struct inlined_call *call)
{
	struct hs_error *error = NULL;
	struct line_table *lines = NULL;
	const char *file = NULL;

	frame->line = line_number(call->line);
	if (call->has_file)
		error = line_table_of(unit, &lines);
	if (!error && lines)
		error = line_table_file(lines, call->file_number, &file);
	if (file)
		frame->file = file;
	return error;
}

// The frames of an address in a function, innermost first, all but the line of the innermost one.
static struct hs_error *add_frames(struct debug_units *units, const struct die *function, uint64_t address,
				   struct debug_frame *frames, size_t *count_ret)
{
	const bool is_new = !inlined_calls_are_of(&units->calls, function);
	const struct inlined_call *inner = NULL;
	size_t index, count = 0;
	struct hs_error *error = inlined_calls_find(&units->calls, function, address, &index);

	if (!error && is_new)
		error = read_frame(function, &units->frame);
	if (error)
		units->calls.function = (struct die){ 0 };
	while (!error) {
		const struct inlined_call *call = index == NO_INLINED_CALL ? NULL : &units->calls.items[index];

		if (call)
			error = read_call_frame(units, function->unit, call, &frames[count]);
		else
			frames[count] = units->frame;
		if (!error && inner)
			error = set_place_of_call(&frames[count], function->unit, inner);
		count++;
		if (!call)
			break;
		inner = call;
		index = call->outer;
	}
	*count_ret = count;
	return error;
}

static struct hs_error *set_line_of_address(struct debug_frame *frame, struct debug_unit *unit, uint64_t address)
{
	struct line_table *lines;
	struct hs_error *error = line_table_of(unit, &lines);
	const char *file = NULL;
	uint64_t number;
	uint32_t line;
	bool found = false;

	if (!error && lines)
		error = line_table_find(lines, address, &found, &number, &line);
	if (!error && found)
		error = line_table_file(lines, number, &file);
	if (file) {
		frame->file = file;
		frame->line = line_number(line);
	}
	return error;
}

struct hs_error *debug_units_lookup(struct debug_units *units, uint64_t address, struct debug_frame *frames,
				    size_t *count_ret)
{
	struct die function;
	size_t unit_index, count = 0;
	bool found;

	*count_ret = 0;
	if (!range_index_find(&units->ranges, address, &unit_index))
		return NULL;

	struct debug_unit *unit = &units->file.units[unit_index];
	struct hs_error *error = function_index_find(&units->functions[unit_index], unit, address, &function, &found);

	if (!error && found)
		error = add_frames(units, &function, address, frames, &count);
	if (error)
		return error;
	if (count == 0)
		frames[count++] = (struct debug_frame){ 0 };
	*count_ret = count;
	return set_line_of_address(&frames[0], unit, address);
}
