// SPDX-License-Identifier: Apache-2.0
#include "cli/value_cells.h"

#include <stdio.h>

bool value_has_error(const struct value_kind *kind) { return kind->profile->is_estimate && !kind->is_allocated; }

const char *value_title(const struct value_kind *kind)
{
	return kind->is_temporary ? "temporary" : kind->is_allocated ? "allocated" : "live";
}

const char *value_count_title(const struct value_kind *kind) { return kind->is_temporary ? "share" : "blocks"; }

bool value_is_nothing(const struct value_kind *kind, const struct profile_values *values)
{
	if (kind->is_temporary)
		return values->temporary_objects == 0;
	return kind->is_allocated ? values->alloc_bytes == 0 && values->alloc_objects == 0
				  : values->live_bytes == 0 && values->live_objects == 0;
}

static int64_t bytes_of(const struct value_kind *kind, const struct profile_values *values)
{
	return kind->is_allocated ? values->alloc_bytes : values->live_bytes;
}

// A number without an error means exact: of an estimate whose error is not beside it, it is said.
static const char *about(bool is_estimate) { return is_estimate ? "~" : ""; }

bool value_is_least(const struct value_kind *kind, const struct profile_values *values)
{
	return value_has_error(kind) && profile_is_recorded_exactly(values) &&
	       (values->live_bytes != 0 || values->live_objects != 0);
}

const char *value_bytes(const struct value_kind *kind, const struct profile_values *values, char *buffer)
{
	const char *mark = !value_is_least(kind, values)  ? about(kind->profile->is_estimate)
			   : kind->profile->is_difference ? ""
							  : "≥";
	const bool is_difference = kind->profile->is_difference;
	char number[NUMBER_SIZE];

	snprintf(buffer, VALUE_SIZE, "%s%.*s", mark, NUMBER_SIZE - 1,
		 kind->is_temporary ? number_short_of(values->temporary_objects, is_difference, number)
				    : number_bytes_of(bytes_of(kind, values), is_difference, number));
	return buffer;
}

static uint64_t size_of(int64_t bytes) { return bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes; }

uint64_t value_error(const struct value_kind *kind, const struct profile_values *values)
{
	return profile_bytes_error(kind->profile, values->live_bytes_variance);
}

bool value_is_within(const struct value_kind *kind, const struct profile_values *values, uint64_t error)
{
	return value_has_error(kind) && !value_is_least(kind, values) && size_of(values->live_bytes) < error;
}

static void make_temporary(const struct value_kind *kind, const struct profile_values *values, struct value_cells *ret)
{
	value_bytes(kind, values, ret->bytes);
	ret->error[0] = ret->blocks[0] = 0;
	if (values->alloc_objects > 0)
		snprintf(ret->blocks, sizeof(ret->blocks), "%.0f %%",
			 100 * (double)values->temporary_objects / (double)values->alloc_objects);
}

void value_cells_make(const struct value_kind *kind, const struct profile_values *values, uint64_t error,
		      struct value_cells *ret)
{
	const bool is_difference = kind->profile->is_difference, is_least = value_is_least(kind, values);
	char number[NUMBER_SIZE];

	if (kind->is_temporary) {
		make_temporary(kind, values, ret);
		return;
	}
	if (value_is_within(kind, values, error))
		snprintf(ret->bytes, sizeof(ret->bytes), "about 0");
	else if (value_has_error(kind))
		snprintf(ret->bytes, sizeof(ret->bytes), "%s%.*s", is_least && !is_difference ? "≥" : "",
			 NUMBER_SIZE - 1, number_bytes_of(values->live_bytes, is_difference, number));
	else
		value_bytes(kind, values, ret->bytes);
	snprintf(ret->blocks, sizeof(ret->blocks), "%s%.*s", about(kind->profile->is_estimate && kind->is_allocated),
		 NUMBER_SIZE - 1,
		 number_short_of(kind->is_allocated ? values->alloc_objects : values->live_objects, is_difference,
				 number));
	ret->error[0] = 0;
	if (is_least && is_difference)
		snprintf(ret->error, sizeof(ret->error), "recorded");
	else if (value_has_error(kind) && !is_least) // of a difference a share says nothing
		snprintf(ret->error, sizeof(ret->error), "±%.*s", NUMBER_SIZE - 1,
			 is_difference ? number_bytes(error, number) : number_error(values->live_bytes, error, number));
}
