// SPDX-License-Identifier: Apache-2.0
// A library with a function whose name the test replaces in the built file by bytes of its own, of the same length; so
// it is reached by a pointer. And the functions of an allocator, of which je_free is too short to be hooked: attach
// says so, with the library's name.
#include <stddef.h>
#include <stdlib.h>

void *strange_name_placeholder_0123456789(size_t size);
void *je_malloc(size_t size);
void *je_calloc(size_t count, size_t size);
void *je_realloc(void *block, size_t size);

__attribute__((noipa)) void *strange_name_placeholder_0123456789(size_t size)
{
	void *block = malloc(size);
	__asm__ volatile("" ::: "memory"); // no tail call
	return block;
}

extern void *(*const strange_entry)(size_t size);
void *(*const strange_entry)(size_t size) = strange_name_placeholder_0123456789;

__attribute__((noipa)) void *je_malloc(size_t size) { return size ? malloc(size) : NULL; }

__attribute__((noipa)) void *je_calloc(size_t count, size_t size) { return count ? calloc(count, size) : NULL; }

__attribute__((noipa)) void *je_realloc(void *block, size_t size) { return size ? realloc(block, size) : NULL; }

__asm__(".pushsection .text\n"
	".globl je_free\n"
	".type je_free, @function\n"
	"je_free: ret\n"
	".size je_free, . - je_free\n"
	"	ret\n"
	".popsection\n");
