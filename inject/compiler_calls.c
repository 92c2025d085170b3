// SPDX-License-Identifier: Apache-2.0
// The functions that gcc and clang may call for copying and clearing structs even in freestanding code.
#include <stddef.h>
#include <stdint.h>

__attribute__((visibility("hidden"))) void *memset(void *to, int byte, size_t size);
__attribute__((visibility("hidden"))) void *memcpy(void *to, const void *from, size_t size);

void *memset(void *to, int byte, size_t size)
{
	uint8_t *position = to;

	while (size--)
		*position++ = (uint8_t)byte;
	return to;
}

void *memcpy(void *to, const void *from, size_t size)
{
	uint8_t *position = to;
	const uint8_t *source = from;

	while (size--)
		*position++ = *source++;
	return to;
}
