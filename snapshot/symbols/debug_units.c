// SPDX-License-Identifier: Apache-2.0
// libdw finds a unit by .debug_aranges, which clang and rustc do not write, and a function by walking the whole
// unit for each address. Here units are indexed once, the functions of a unit when it is first asked, and the inlined
// calls of a function likewise.
#include "snapshot/symbols/debug_units.h"

#include "base/array.h"
#include "snapshot/symbols/demangle.h"
#include "snapshot/symbols/range_index.h"

#include <dwarf.h>
#include <stdlib.h>

// Namespaces, classes and blocks inside one another: a bound against hostile files, far above what compilers write.
enum { NESTING_LIMIT = 128 };

#define NO_CALL SIZE_MAX

// An inlined call.
struct debug_call {
	Dwarf_Die die;
	size_t outer; // the call that it is inlined into, index into calls; NO_CALL = the function itself
	int depth;    // 1 = in the function itself
	bool is_read; // what follows is filled in
	struct debug_frame frame;
	const char *file; // of the call; NULL = unknown
	int64_t line;
};

struct debug_function {
	Dwarf_Die die;
	bool is_indexed; // what follows is filled in
	struct debug_frame frame;
	struct range_index call_ranges; // value: index into calls
	struct debug_call *calls;
	size_t call_count, call_room;
};

struct debug_unit {
	Dwarf_Die die;
	bool is_indexed, is_searched;       // by its namespaces; and by its types as well
	struct range_index function_ranges; // value: index into functions
	struct debug_function *functions;
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
		for (size_t j = 0; j < units->items[i].function_count; j++) {
			range_index_deinit(&units->items[i].functions[j].call_ranges);
			free(units->items[i].functions[j].calls);
		}
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
	unit->functions[unit->function_count++] = (struct debug_function){ .die = *die };
	return NULL;
}

static bool is_type(int tag)
{
	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type ||
	       tag == DW_TAG_enumeration_type;
}

// The functions below `parent`; within types only those, or only the others.
static struct hs_error *add_functions(struct debug_unit *unit, Dwarf_Die *parent, bool is_in_type, bool in_types,
				      int nesting)
{
	Dwarf_Die child;

	if (nesting == NESTING_LIMIT || dwarf_child(parent, &child) != 0)
		return NULL;
	do {
		int tag = dwarf_tag(&child);
		struct hs_error *error = NULL;

		if (tag == DW_TAG_subprogram && is_in_type == in_types)
			error = add_function(unit, &child);
		else if (tag == DW_TAG_namespace || tag == DW_TAG_module)
			error = add_functions(unit, &child, is_in_type, in_types, nesting + 1);
		else if (in_types && is_type(tag))
			error = add_functions(unit, &child, true, in_types, nesting + 1);
		if (error)
			return error;
	} while (dwarf_siblingof(&child, &child) == 0);
	return NULL;
}

// Adds the inlined calls below `parent`, each before those inside it. `outer`: the call that `parent` is in.
static struct hs_error *add_calls(struct debug_function *function, Dwarf_Die *parent, size_t outer, int nesting)
{
	const int depth = outer == NO_CALL ? 1 : function->calls[outer].depth + 1;
	struct hs_error *error = NULL;
	Dwarf_Die child;

	if (nesting == NESTING_LIMIT || depth >= DEBUG_FRAMES_LIMIT || dwarf_child(parent, &child) != 0)
		return NULL;
	do {
		const int tag = dwarf_tag(&child);
		const size_t index = function->call_count;

		if (tag == DW_TAG_lexical_block || tag == DW_TAG_try_block || tag == DW_TAG_catch_block) {
			error = add_calls(function, &child, outer, nesting + 1);
		} else if (tag == DW_TAG_inlined_subroutine) {
			error = ARRAY_RESERVE(function->calls, index + 1, &function->call_room);
			if (error)
				break;
			function->calls[function->call_count++] =
				(struct debug_call){ .die = child, .outer = outer, .depth = depth };
			error = add_ranges(&function->call_ranges, &child, index);
			if (!error)
				error = add_calls(function, &child, index, nesting + 1);
		}
	} while (!error && dwarf_siblingof(&child, &child) == 0);
	return error;
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

static bool referred(Dwarf_Die *die, unsigned int name, Dwarf_Die *ret)
{
	Dwarf_Attribute attribute;

	return dwarf_attr_integrate(die, name, &attribute) && dwarf_formref_die(&attribute, ret);
}

// Where the lambda stands whose call this is; 0 = it is none. gcc says that of the lambda's type, not of its
// operator().
static int line_of_lambda(Dwarf_Die *die)
{
	enum { TYPES_MAX = 4 }; // a constant pointer to a constant lambda
	Dwarf_Die object, type;
	int line;

	if (!referred(die, DW_AT_object_pointer, &object))
		return 0;
	for (int i = 0; i < TYPES_MAX && referred(&object, DW_AT_type, &type); i++) {
		if (dwarf_tag(&type) == DW_TAG_structure_type || dwarf_tag(&type) == DW_TAG_class_type)
			return dwarf_decl_line(&type, &line) == 0 ? line : 0;
		object = type;
	}
	return 0;
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
	frame.start_line = dwarf_decl_line(die, &line) == 0 ? line : line_of_lambda(die);
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
static void read_call(struct debug_call *call, Dwarf_Die *unit)
{
	Dwarf_Word line, index;
	Dwarf_Files *files;
	size_t count;

	call->frame = frame_of(&call->die);
	call->is_read = true;
	if (!unsigned_attribute(&call->die, DW_AT_call_line, &line) || line > INT32_MAX)
		return;
	call->line = (int64_t)line;
	if (unsigned_attribute(&call->die, DW_AT_call_file, &index) && dwarf_getsrcfiles(unit, &files, &count) == 0 &&
	    index < count)
		call->file = dwarf_filesrc(files, index, NULL, NULL);
}

static struct hs_error *index_function(struct debug_function *function)
{
	struct hs_error *error = add_calls(function, &function->die, NO_CALL, 0);

	if (error)
		return error;
	range_index_sort(&function->call_ranges);
	function->frame = frame_of(&function->die);
	function->is_indexed = true;
	return NULL;
}

// The frames of an address in a function, innermost first, all but the line of the innermost one. Ranges of calls
// inside one another begin where the outer one does, or later, so the one that is found is the innermost; of equal ones
// it is the one that was added last.
static struct hs_error *add_frames(struct debug_function *function, Dwarf_Die *unit, Dwarf_Addr address,
				   struct debug_frame *frames, size_t *count_ret)
{
	struct hs_error *error = function->is_indexed ? NULL : index_function(function);
	size_t index, count = 0;

	if (error)
		return error;
	if (!range_index_find(&function->call_ranges, address, &index))
		index = NO_CALL;
	for (const struct debug_call *inner = NULL;; count++) {
		struct debug_call *call = index == NO_CALL ? NULL : &function->calls[index];

		if (call && !call->is_read)
			read_call(call, unit);
		frames[count] = call ? call->frame : function->frame;
		if (inner) {
			frames[count].line = inner->line;
			frames[count].file = inner->file ? inner->file : frames[count].file;
		}
		if (!call)
			break;
		inner = call;
		index = call->outer;
	}
	count++;
	*count_ret = count;
	return NULL;
}

// The function that holds an address. *ret NULL: none does. Compilers describe code outside of types, but need not; and
// types are most of a unit of C++, so these are gone through only where the others do not hold the address.
static struct hs_error *find_function(struct debug_unit *unit, Dwarf_Addr address, struct debug_function **ret)
{
	struct hs_error *error = NULL;
	size_t index;

	*ret = NULL;
	if (!unit->is_indexed) {
		error = add_functions(unit, &unit->die, false, false, 0);
		range_index_sort(&unit->function_ranges);
		unit->is_indexed = true;
	}
	if (!error && !unit->is_searched && !range_index_find(&unit->function_ranges, address, &index)) {
		error = add_functions(unit, &unit->die, false, true, 0);
		range_index_sort(&unit->function_ranges);
		unit->is_searched = true;
	}
	if (!error && range_index_find(&unit->function_ranges, address, &index))
		*ret = &unit->functions[index];
	return error;
}

struct hs_error *debug_units_lookup(struct debug_units *units, uint64_t address, struct debug_frame *frames,
				    size_t *count_ret)
{
	struct hs_error *error = NULL;
	struct debug_function *function;
	size_t unit_index, count = 0;

	*count_ret = 0;
	if (!range_index_find(&units->ranges, address, &unit_index))
		return NULL;

	struct debug_unit *unit = &units->items[unit_index];

	error = find_function(unit, address, &function);
	if (!error && function)
		error = add_frames(function, &unit->die, address, frames, &count);
	if (error)
		return error;
	if (count == 0)
		frames[count++] = (struct debug_frame){ 0 };
	set_line_of_address(&frames[0], &unit->die, address);
	*count_ret = count;
	return NULL;
}
