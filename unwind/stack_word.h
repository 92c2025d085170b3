// SPDX-License-Identifier: Apache-2.0
// Reads words of the stack that is walked.
#ifndef HEAPSNAP_UNWIND_STACK_WORD_H
#define HEAPSNAP_UNWIND_STACK_WORD_H

#include "unwind/cfi.h"

// The word at `offset` from the span's start. pre: offset + 8 <= stack->size.
static inline uint64_t stack_word(const struct memory_span *stack, uint64_t offset)
{
	uint64_t value;

	__builtin_memcpy(&value, stack->bytes + offset, sizeof value);
	return value;
}

// Reads the word at `address`; false when it is not wholly inside.
static inline bool stack_read(const struct memory_span *stack, uint64_t address, uint64_t *ret)
{
	uint64_t offset = address - stack->address; // wraps to a large number below the span

	if (offset > stack->size || stack->size - offset < sizeof *ret)
		return false;
	*ret = stack_word(stack, offset);
	return true;
}

#endif
