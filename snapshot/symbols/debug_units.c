// SPDX-License-Identifier: Apache-2.0
// libdw finds a unit by .debug_aranges, which clang and rustc do not write, and a function by walking the whole
// unit for each address. Here units are indexed once, and the functions of a unit when it is first asked.
#include "snapshot/symbols/debug_units.h"

#include "base/array.h"
#include "snapshot/symbols/demangle.h"
#include "snapshot/symbols/range_index.h"

#include <dwarf.h>
#include <stdlib.h>

// Namespaces, classes and blocks inside one another: a bound against hostile files, far above what compilers write.
enum { NESTING_LIMIT = 128 };

struct debug_unit {
	Dwarf_Die die;
	bool is_indexed;
	struct range_index function_ranges; // value: index into functions
	Dwarf_Die *functions;
	size_t function_count, function_room;
};

struct debug_units {
	struct debug_unit *items;
	size_t count, room;
	struct range_index ranges; // value: index into items
};

static struct hs_error *add_ranges(struct range_index *index, Dwarf_Die *die, size_t value)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t offset = 0;

	while ((offset = dwarf_ranges(die, offset, &base, &low, &high)) > 0) {
		// The linker has put 0 in the place of a function that it dropped, and no code is at 0.
		struct hs_error *error = low ? range_index_add(index, low, high, value) : NULL;

		if (error)
			return error;
	}
	return NULL;
}

static struct hs_error *add_unit(struct debug_units *units, Dwarf_Die *die)
{
	if (ARRAY_RESERVE(units->items, units->count + 1, &units->room))
		return &hs_error_no_memory;
	units->items[units->count] = (struct debug_unit){ .die = *die };
	return add_ranges(&units->ranges, die, units->count++);
}

struct hs_error *debug_units_create(Dwarf *dwarf, struct debug_units **ret)
{
	struct debug_units *units = calloc(1, sizeof(*units));
	struct hs_error *error = units ? NULL : &hs_error_no_memory;
	Dwarf_CU *unit = NULL;
	uint8_t type;
	Dwarf_Die die;

	// The last argument would open the files of split DWARF, by names that the target chose: of such a unit
	// only lines are used.
	while (!error && dwarf_get_units(dwarf, unit, &unit, NULL, &type, &die, NULL) == 0) {
		if (type == DW_UT_compile || type == DW_UT_skeleton)
			error = add_unit(units, &die);
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
	for (size_t i = 0; i < units->count; i++) {
		range_index_deinit(&units->items[i].function_ranges);
		free(units->items[i].functions);
	}
	free(units->items);
	range_index_deinit(&units->ranges);
	free(units);
}

static struct hs_error *add_function(struct debug_unit *unit, Dwarf_Die *die)
{
	size_t ranges_before = unit->function_ranges.count;
	struct hs_error *error = add_ranges(&unit->function_ranges, die, unit->function_count);

	// Declarations and abstract functions have no code.
	if (error || unit->function_ranges.count == ranges_before)
		return error;
	if (ARRAY_RESERVE(unit->functions, unit->function_count + 1, &unit->function_room))
		return &hs_error_no_memory;
	unit->functions[unit->function_count++] = *die;
	return NULL;
}

static bool may_hold_functions(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_structure_type ||
	       tag == DW_TAG_class_type || tag == DW_TAG_union_type || tag == DW_TAG_enumeration_type;
}

static struct hs_error *add_functions(struct debug_unit *unit, Dwarf_Die *parent, int nesting)
{
	Dwarf_Die child;

	if (nesting == NESTING_LIMIT || dwarf_child(parent, &child) != 0)
		return NULL;
	do {
		int tag = dwarf_tag(&child);
		struct hs_error *error = NULL;

		if (tag == DW_TAG_subprogram)
			error = add_function(unit, &child);
		else if (may_hold_functions(tag))
			error = add_functions(unit, &child, nesting + 1);
		if (error)
			return error;
	} while (dwarf_siblingof(&child, &child) == 0);
	return NULL;
}

static bool has_no_ranges(Dwarf_Die *die)
{
	return !dwarf_hasattr(die, DW_AT_low_pc) && !dwarf_hasattr(die, DW_AT_ranges);
}

// Appends to `calls` the inlined calls below `parent` that hold `address`, outermost first. True when there is one.
static bool find_inlined(Dwarf_Die *parent, Dwarf_Addr address, Dwarf_Die *calls, size_t *count, int nesting)
{
	Dwarf_Die child;

	if (nesting == NESTING_LIMIT || *count == DEBUG_FRAMES_LIMIT - 1 || dwarf_child(parent, &child) != 0)
		return false;
	do {
		int tag = dwarf_tag(&child);

		if (tag == DW_TAG_inlined_subroutine && dwarf_haspc(&child, address) == 1) {
			calls[(*count)++] = child;
			find_inlined(&child, address, calls, count, nesting + 1);
			return true;
		}
		if (tag != DW_TAG_lexical_block && tag != DW_TAG_try_block && tag != DW_TAG_catch_block)
			continue;
		if (dwarf_haspc(&child, address) == 1)
			return find_inlined(&child, address, calls, count, nesting + 1);
		if (has_no_ranges(&child) && find_inlined(&child, address, calls, count, nesting + 1))
			return true;
	} while (dwarf_siblingof(&child, &child) == 0);
	return false;
}

// NULL when there is none, or one that says less than the plain name: C functions have one when their symbol is renamed
// (glibc's strdup is __GI___strdup).
static const char *linkage_name(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));

	if (!name)
		name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute));
	return name && is_mangled(name) ? name : NULL;
}

// Name and start of the function of a subprogram or inlined call; the file is that of the declaration until the
// line is known.
static struct debug_frame frame_of(Dwarf_Die *die)
{
	struct debug_frame frame = { .system_name = linkage_name(die), .file = dwarf_decl_file(die) };
	int line;

	frame.has_linkage_name = frame.system_name != NULL;
	if (!frame.system_name)
		frame.system_name = dwarf_diename(die);
	if (dwarf_decl_line(die, &line) == 0)
		frame.start_line = line;
	return frame;
}

static void set_line_of_address(struct debug_frame *frame, Dwarf_Die *unit, Dwarf_Addr address)
{
	Dwarf_Line *row = dwarf_getsrc_die(unit, address);
	const char *file = row ? dwarf_linesrc(row, NULL, NULL) : NULL;
	int line;

	if (file && dwarf_lineno(row, &line) == 0) {
		frame->file = file;
		frame->line = line;
	}
}

static bool unsigned_attribute(Dwarf_Die *die, unsigned int name, Dwarf_Word *ret)
{
	Dwarf_Attribute attribute;

	return dwarf_attr(die, name, &attribute) && dwarf_formudata(&attribute, ret) == 0;
}

// Where the inlined call stands in the function that it is inlined into.
static void set_line_of_call(struct debug_frame *frame, Dwarf_Die *unit, Dwarf_Die *call)
{
	Dwarf_Word line, index;
	Dwarf_Files *files;
	size_t count;

	if (!unsigned_attribute(call, DW_AT_call_line, &line) || line > INT32_MAX)
		return;
	frame->line = (int64_t)line;
	if (unsigned_attribute(call, DW_AT_call_file, &index) && dwarf_getsrcfiles(unit, &files, &count) == 0 &&
	    index < count) {
		const char *file = dwarf_filesrc(files, index, NULL, NULL);

		if (file)
			frame->file = file;
	}
}

struct hs_error *debug_units_lookup(struct debug_units *units, uint64_t address, struct debug_frame *frames,
				    size_t *count_ret)
{
	Dwarf_Die calls[DEBUG_FRAMES_LIMIT];
	size_t unit_index, function, count = 0;

	*count_ret = 0;
	if (!range_index_find(&units->ranges, address, &unit_index))
		return NULL;

	struct debug_unit *unit = &units->items[unit_index];

	if (!unit->is_indexed) {
		struct hs_error *error = add_functions(unit, &unit->die, 0);

		if (error)
			return error;
		range_index_sort(&unit->function_ranges);
		unit->is_indexed = true;
	}
	// calls[0] is the function itself.
	if (range_index_find(&unit->function_ranges, address, &function)) {
		calls[count++] = unit->functions[function];
		find_inlined(&calls[0], address, calls, &count, 0);
	}
	for (size_t i = 0; i < count; i++)
		frames[i] = frame_of(&calls[count - 1 - i]);
	if (count == 0) {
		frames[0] = (struct debug_frame){ 0 };
		count = 1;
	}
	set_line_of_address(&frames[0], &unit->die, address);
	for (size_t i = 1; i < count; i++)
		set_line_of_call(&frames[i], &unit->die, &calls[count - i]);
	*count_ret = count;
	return NULL;
}
