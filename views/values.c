// SPDX-License-Identifier: Apache-2.0
#include "views/values.h"

#include <math.h>
#include <string.h>

static const char *const order_names[ORDER_COUNT] = {
	[ORDER_LIVE] = "live-bytes",
	[ORDER_BLOCKS] = "live-blocks",
	[ORDER_ALLOCATED] = "alloc-bytes",
	[ORDER_ALLOCATIONS] = "alloc-blocks",
	[ORDER_TEMPORARY] = "temporary-blocks",
	[ORDER_ERROR] = "error",
	[ORDER_NAME] = "name",
	[ORDER_CUMULATIVE] = "cumulative",
};

const char *values_order_name(enum values_order order) { return order_names[order]; }

bool values_order_find(const char *name, enum values_order *ret)
{
	for (unsigned i = 0; i < ORDER_COUNT; i++) {
		if (strcmp(order_names[i], name) == 0) {
			*ret = (enum values_order)i;
			return true;
		}
	}
	return false;
}

int64_t number_subtract(int64_t from, int64_t what)
{
	int64_t difference;

	if (__builtin_sub_overflow(from, what, &difference))
		return what < 0 ? INT64_MAX : INT64_MIN;
	return difference;
}

struct profile_values values_subtract(const struct profile_values *from, const struct profile_values *what)
{
	return (struct profile_values){
		.alloc_objects = number_subtract(from->alloc_objects, what->alloc_objects),
		.alloc_bytes = number_subtract(from->alloc_bytes, what->alloc_bytes),
		.temporary_objects = number_subtract(from->temporary_objects, what->temporary_objects),
		.live_objects = number_subtract(from->live_objects, what->live_objects),
		.live_bytes = number_subtract(from->live_bytes, what->live_bytes),
		.live_records = from->live_records + what->live_records,
		.live_objects_variance = from->live_objects_variance + what->live_objects_variance,
		.live_bytes_variance = from->live_bytes_variance + what->live_bytes_variance,
	};
}

double values_size(const struct profile_values *values, enum values_order order)
{
	switch (order) {
	case ORDER_BLOCKS:
		return fabs((double)values->live_objects);
	case ORDER_ALLOCATED:
		return fabs((double)values->alloc_bytes);
	case ORDER_ALLOCATIONS:
		return fabs((double)values->alloc_objects);
	case ORDER_TEMPORARY:
		return fabs((double)values->temporary_objects);
	case ORDER_ERROR:
		return sqrt(values->live_bytes_variance);
	case ORDER_LIVE:
	case ORDER_NAME:
	case ORDER_CUMULATIVE:
	case ORDER_COUNT:
		break;
	}
	return fabs((double)values->live_bytes);
}

double values_weight(const struct profile_values *values, enum values_order order)
{
	return values_size(values, order == ORDER_ERROR ? ORDER_LIVE : order);
}

bool values_are_zero(const struct profile_values *values)
{
	return values->alloc_objects == 0 && values->alloc_bytes == 0 && values->live_objects == 0 &&
	       values->live_bytes == 0;
}
