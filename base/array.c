// SPDX-License-Identifier: Apache-2.0
#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>

enum { FIRST_BYTES = 1024, FIRST_ELEMENTS = 4 };

void *hs_array_grow(void *items, size_t needed, size_t size, size_t *room_ret)
{
	size_t room = *room_ret ? *room_ret : FIRST_BYTES / size;
	void *bigger;

	if (room < FIRST_ELEMENTS)
		room = FIRST_ELEMENTS;
	if (*room_ret)
		room *= 2;
	if (room < needed) // also where doubling was too much for a size_t
		room = needed;
	// No object is larger (malloc(3)). Asked here, because sanitizers end a program that asks for more.
	if (room > PTRDIFF_MAX / size)
		return NULL;
	bigger = realloc(items, room * size);
	if (bigger)
		*room_ret = room;
	return bigger;
}
