// SPDX-License-Identifier: Apache-2.0
// A library that is linked by headless.lds.
#include <stdlib.h>

void *headless_allocate(size_t size);

__attribute__((noipa)) static void *allocate_all_of(size_t size) { return malloc(size); }

void *headless_allocate(size_t size)
{
	void *block = allocate_all_of(size);

	return block ? block : NULL;
}
