// SPDX-License-Identifier: Apache-2.0
// The numbers of a row: what is live, or was allocated since attach, with how far an estimate may be off.
#ifndef HEAPSNAP_CLI_VALUE_CELLS_H
#define HEAPSNAP_CLI_VALUE_CELLS_H

#include "cli/table.h"
#include "views/numbers.h"
#include "views/values.h"

// What the rows of one table have in common.
struct value_kind {
	const struct heap_profile *profile;
	bool is_allocated; // since attach, instead of live
};

static inline struct value_kind value_kind_of(const struct heap_profile *profile, enum values_order order)
{
	return (struct value_kind){ profile, values_order_is_allocated(order) };
}

struct value_cells {
	char bytes[NUMBER_SIZE + 1], error[NUMBER_SIZE + 4], blocks[NUMBER_SIZE + 1];
};

// Whether there is a column for errors. What was allocated has none: where it is an estimate, it has a "~".
bool value_has_error(const struct value_kind *kind);
void value_cells_make(const struct value_kind *kind, const struct profile_values *values, struct value_cells *ret);
// "20.2 MiB", "-1.5 KiB"; "~20.2 MiB" of an estimate, for a place without its error; into a buffer of NUMBER_SIZE + 1
// bytes, which is returned.
const char *value_bytes(const struct value_kind *kind, const struct profile_values *values, char *buffer);

#endif
