// SPDX-License-Identifier: Apache-2.0
// A library with one named allocating function; the build gives it its name.
#include <stdlib.h>

void *ALLOCATE(size_t size);

__attribute__((noipa)) void *ALLOCATE(size_t size)
{
	void *block = malloc(size);
	__asm__ volatile("" ::: "memory"); // no tail call
	return block;
}
