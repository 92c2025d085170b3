// SPDX-License-Identifier: Apache-2.0
#include "cli/value_cells.h"

#include <stdio.h>

bool value_has_error(const struct value_kind *kind) { return kind->profile->is_estimate && !kind->is_allocated; }

static int64_t bytes_of(const struct value_kind *kind, const struct profile_values *values)
{
	return kind->is_allocated ? values->alloc_bytes : values->live_bytes;
}

// A number without an error means exact: of an estimate whose error is not beside it, it is said.
static const char *about(bool is_estimate) { return is_estimate ? "~" : ""; }

const char *value_bytes(const struct value_kind *kind, const struct profile_values *values, char *buffer)
{
	char number[NUMBER_SIZE];

	snprintf(buffer, NUMBER_SIZE + 1, "%s%.*s", about(kind->profile->is_estimate), NUMBER_SIZE - 1,
		 number_bytes_of(bytes_of(kind, values), kind->profile->is_difference, number));
	return buffer;
}

void value_cells_make(const struct value_kind *kind, const struct profile_values *values, struct value_cells *ret)
{
	const uint64_t error = profile_bytes_error(kind->profile, values->live_bytes_variance);
	char number[NUMBER_SIZE];

	if (value_has_error(kind))
		number_bytes_of(bytes_of(kind, values), kind->profile->is_difference, ret->bytes);
	else
		value_bytes(kind, values, ret->bytes);
	snprintf(ret->blocks, sizeof(ret->blocks), "%s%.*s", about(kind->profile->is_estimate && kind->is_allocated),
		 NUMBER_SIZE - 1,
		 number_short_of(kind->is_allocated ? values->alloc_objects : values->live_objects,
				 kind->profile->is_difference, number));
	ret->error[0] = 0;
	if (value_has_error(kind)) // of a difference a share says nothing
		snprintf(ret->error, sizeof(ret->error), "±%.*s", NUMBER_SIZE - 1,
			 kind->profile->is_difference ? number_bytes(error, number)
						      : number_error(values->live_bytes, error, number));
}
