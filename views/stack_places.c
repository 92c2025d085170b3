// SPDX-License-Identifier: Apache-2.0
#include "views/stack_places.h"

#include "base/array.h"

#include <stdlib.h>

void stack_buffer_deinit(struct stack_buffer *buffer)
{
	free(buffer->items);
	*buffer = (struct stack_buffer){ 0 };
}

struct hs_error *stack_places(const struct named_profile *named, const struct profile_sample *sample,
			      struct stack_buffer *buffer)
{
	struct hs_error *error;

	buffer->count = named_stack(named, sample, buffer->items, buffer->room);
	if (buffer->count < buffer->room)
		return NULL;
	error = ARRAY_RESERVE(buffer->items, buffer->count + 1, &buffer->room);
	if (!error)
		buffer->count = named_stack(named, sample, buffer->items, buffer->room);
	return error;
}
