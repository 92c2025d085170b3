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
	bool is_temporary; // of these the temporary ones: how many, and their share of the site's
};

static inline struct value_kind value_kind_of(const struct heap_profile *profile, enum values_order order)
{
	return (struct value_kind){ profile, values_order_is_allocated(order), order == ORDER_TEMPORARY };
}

enum { VALUE_SIZE = NUMBER_SIZE + 4 }; // bytes of a buffer

struct value_cells {
	char bytes[VALUE_SIZE], error[VALUE_SIZE], blocks[VALUE_SIZE];
};

// What stands above the columns of `bytes` and `blocks`.
const char *value_title(const struct value_kind *kind);
const char *value_count_title(const struct value_kind *kind);
// Whether there is a column for errors. What was allocated has none: where it is an estimate, it has a "~".
bool value_has_error(const struct value_kind *kind);
// Whether all that is shown of an estimate was recorded exactly. Then it has no error, and is the least that is live:
// "≥8.0 KiB". A difference of two such values has "recorded" in the place of its error.
bool value_is_least(const struct value_kind *kind, const struct profile_values *values);
// How far it may be off, bytes.
uint64_t value_error(const struct value_kind *kind, const struct profile_values *values);
// Whether it is less than that, and so says nothing else. It is shown as "about 0".
bool value_is_within(const struct value_kind *kind, const struct profile_values *values, uint64_t error);
// `error`: value_error, where nothing better is known.
void value_cells_make(const struct value_kind *kind, const struct profile_values *values, uint64_t error,
		      struct value_cells *ret);
// Whether there is nothing of what is shown.
bool value_is_nothing(const struct value_kind *kind, const struct profile_values *values);
// "20.2 MiB", "-1.5 KiB"; a number of temporary allocations as "47.6k"; of an estimate "~20.2 MiB", for a place without
// its error, or "≥20.2 MiB"; into a buffer of VALUE_SIZE bytes, which is returned.
const char *value_bytes(const struct value_kind *kind, const struct profile_values *values, char *buffer);

#endif
