// SPDX-License-Identifier: Apache-2.0
// What a child said of the symbols of one module, checked. Pure.
#ifndef HEAPSNAP_SNAPSHOT_SYMBOLS_SYMBOL_ANSWER_H
#define HEAPSNAP_SNAPSHOT_SYMBOLS_SYMBOL_ANSWER_H

#include "base/error.h"
#include "snapshot/heap_profile.h"
#include "snapshot/symbols/function_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct answer_location {
	uint32_t first_line, line_count; // in `lines`; line_count 0 = no symbol
	bool is_answered, has_inlined, is_guess, is_wrapper;
};

struct symbol_answer {
	struct answer_location *locations; // one for each address that was asked for
	size_t location_count;
	struct function_table functions;
	uint32_t *numbers; // from the child's number of a function to its index in `functions`
	size_t number_count, number_room;
	struct profile_line *lines; // functions by their index in `functions`
	size_t line_count, line_room;
	uint64_t text_bytes; // of all functions so far
	bool is_stripped;    // the module's own symbols and debug information are gone, and were not found elsewhere
};

enum { SYMBOL_LINES_MAX = 64 }; // of one location

// For `address_count` addresses. *ret is to be deinitialized. HS_ERROR_NO_MEMORY.
struct hs_error *symbol_answer_init(size_t address_count, struct symbol_answer *ret) HS_MUST_CHECK;
void symbol_answer_deinit(struct symbol_answer *answer);

// Takes the items of one message (what follows its type). HS_ERROR_BAD_DATA for what no honest child says; what was
// taken before is then worth nothing either.
struct hs_error *symbol_answer_take(struct symbol_answer *answer, const void *items, size_t size) HS_MUST_CHECK;

// Takes over a location of another answer. `map` has a number for each function of that one, 0 at first, and is the
// same for all that is taken from it into this one. pre: to->locations[to_index] has not been answered.
// HS_ERROR_NO_MEMORY.
struct hs_error *symbol_answer_copy(struct symbol_answer *to, size_t to_index, const struct symbol_answer *from,
				    size_t from_index, uint32_t *map) HS_MUST_CHECK;

#endif
