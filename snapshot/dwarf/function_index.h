// SPDX-License-Identifier: Apache-2.0
// The functions of a unit by address, and the inlined calls of a function (DWARF 5 §3.3). Pure; bytes may be hostile.
#ifndef HEAPSNAP_SNAPSHOT_DWARF_FUNCTION_INDEX_H
#define HEAPSNAP_SNAPSHOT_DWARF_FUNCTION_INDEX_H

#include "base/range_index.h"
#include "snapshot/dwarf/die.h"

// Zeroed = of a unit that was not asked yet.
struct function_index {
	bool has_outer, has_all;   // functions outside of types and functions; and those inside
	struct range_index ranges; // value: index into entries
	uint64_t *entries;         // owned; offsets in .debug_info
	size_t count, room;
};

// The function that holds an address; the unit is read as far as that needs. *found_ret false: none does.
// HS_ERROR_NO_MEMORY.
struct hs_error *function_index_find(struct function_index *index, struct debug_unit *unit, uint64_t address,
				     struct die *ret, bool *found_ret) HS_MUST_CHECK;
void function_index_deinit(struct function_index *index);

#define NO_INLINED_CALL SIZE_MAX

// Calls inlined into one another more often are not read.
enum { INLINED_DEPTH_MAX = 63 };

struct inlined_call {
	uint64_t entry;           // offset in .debug_info
	struct form_value origin; // the entry of the function that was inlined
	size_t outer; // the call that it is inlined into, index into calls; NO_INLINED_CALL = the function itself
	uint64_t file_number; // of the unit; where the call stands
	uint64_t line;        // likewise; 0 = unknown
	bool has_file;
};

// The inlined calls of the function that is asked at present; its arrays are used again for the next one. Zeroed = of
// none.
struct inlined_calls {
	struct die function;
	struct inlined_call *items; // owned; each before those inside it
	size_t count, room;
	struct range_index ranges; // value: index into items
};

static inline bool inlined_calls_are_of(const struct inlined_calls *calls, const struct die *function)
{
	return calls->function.unit == function->unit && calls->function.offset == function->offset;
}

// The innermost inlined call at an address of the function, index into items; NO_INLINED_CALL = none. Reads the calls
// if they are not those of this function. HS_ERROR_NO_MEMORY.
struct hs_error *inlined_calls_find(struct inlined_calls *calls, const struct die *function, uint64_t address,
				    size_t *ret) HS_MUST_CHECK;
void inlined_calls_deinit(struct inlined_calls *calls);

#endif
