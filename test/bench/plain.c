// SPDX-License-Identifier: Apache-2.0
// A library to be loaded before the C library: malloc and free as they are there, each behind PLAIN additions to four
// registers, which touch no memory and wait for nothing. What so many instructions cost a program, whatever they do.
#include <stddef.h>

#define PLAIN 152

void *__libc_malloc(size_t size);
void __libc_free(void *block);
void *malloc(size_t size);
void free(void *block);

static inline __attribute__((always_inline)) void plain_instructions(void)
{
	__asm__ volatile(".rept %c0 / 4\n"
			 "add $1, %%rcx\n"
			 "add $1, %%rdx\n"
			 "add $1, %%r8\n"
			 "add $1, %%r9\n"
			 ".endr"
			 :
			 : "i"(PLAIN)
			 : "rcx", "rdx", "r8", "r9", "cc");
}

void *malloc(size_t size)
{
	plain_instructions();
	return __libc_malloc(size);
}

void free(void *block)
{
	plain_instructions();
	__libc_free(block);
}
