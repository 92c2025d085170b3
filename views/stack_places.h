// SPDX-License-Identifier: Apache-2.0
// The places of one stack after the other, in one buffer.
#ifndef HEAPSNAP_VIEWS_STACK_PLACES_H
#define HEAPSNAP_VIEWS_STACK_PLACES_H

#include "base/error.h"
#include "views/named_profile.h"

#include <stddef.h>
#include <stdint.h>

// Zeroed = empty.
struct stack_buffer {
	uint32_t *items; // owned by who has the buffer
	size_t count, room;
};
void stack_buffer_deinit(struct stack_buffer *buffer);

// The places of a sample's stack, as named_stack gives them. There is room for one more behind them.
// HS_ERROR_NO_MEMORY.
struct hs_error *stack_places(const struct named_profile *named, const struct profile_sample *sample,
			      struct stack_buffer *buffer) HS_MUST_CHECK;

#endif
