// SPDX-License-Identifier: Apache-2.0
// An allocator and its callers in one shared library, whose names the library exports: the callers use the allocator's
// own names, or those, bound when it was linked (PROTECTED) or compiled (with -fno-semantic-interposition), so that the
// compiler knows which registers it changes (gcc's -fipa-ra, part of -O2). BY_NAME: through the linkage table. The
// library of kept_in_library.c.
#include <stddef.h>
#include <stdint.h>

#define FUNCTION __attribute__((noinline, no_stack_protector))
#ifdef PROTECTED
#define VISIBILITY __attribute__((visibility("protected")))
#else
#define VISIBILITY
#endif
#ifdef NO_ALIAS
#define own_malloc malloc
#define own_free   free
#define OWN        VISIBILITY
#else
#define OWN static
#endif

// In each thread's storage where the functions are not to refer to what lies beside them (-mcmodel=large): then nothing
// but their callers names them.
#ifdef IN_THREAD
#define PLACE __thread
#else
#define PLACE
#endif

static PLACE char memory[1 << 12] __attribute__((aligned(64)));
static PLACE size_t used;
static PLACE struct piece {
	struct piece *next;
} * pieces;

OWN FUNCTION void *own_malloc(size_t size)
{
	struct piece *piece = pieces;

	if (size > 64)
		return NULL;
	if (piece) {
		pieces = piece->next;
		return piece;
	}
	if (used + 64 > sizeof(memory))
		return NULL;
	piece = (struct piece *)(memory + used);
	used += 64;
	return piece;
}

OWN FUNCTION void own_free(void *block)
{
	struct piece *piece = block;

	if (!piece)
		return;
	piece->next = pieces;
	pieces = piece;
}

#ifndef NO_ALIAS
void *malloc(size_t size) __attribute__((alias("own_malloc")));
void free(void *block) __attribute__((alias("own_free")));
#endif

#ifdef BY_NAME
// As a compiler could do it that may take for granted that nobody's functions stand in the place of these: called by
// the names that the loader looks up, with values kept in the registers that they do not change.
static inline __attribute__((always_inline)) void *named_malloc(size_t size)
{
	void *block;

	__asm__ volatile("call malloc@plt" : "=a"(block), "+D"(size) : : "rdx", "memory", "cc");
	return block;
}

static inline __attribute__((always_inline)) void *named_calloc(size_t count, size_t size)
{
	void *block;

	__asm__ volatile("call calloc@plt" : "=a"(block), "+D"(count), "+S"(size) : : "rcx", "rdx", "memory", "cc");
	return block;
}
#else
#define named_malloc own_malloc
#define named_calloc calloc
#endif

VISIBILITY FUNCTION void *calloc(size_t count, size_t size)
{
	volatile char *block = named_malloc(count * size);

	for (size_t i = 0; block && i < count * size; i++)
		block[i] = 0;
	return (void *)block;
}

VISIBILITY FUNCTION void *realloc(void *block, size_t size)
{
	return block ? size <= 64 ? block : NULL : own_malloc(size);
}

FUNCTION uint64_t kept_mix(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
	uint64_t *block = a % 2 ? named_malloc(16) : named_calloc(1, 16),
		 sum = a + 3 * b + 5 * c + 7 * d + 11 * e + 13 * f;

	if (block) {
		*block = sum;
		own_free(block);
	}
	return sum ^ (a * c) ^ (b * d) ^ (e * f) ^ !block;
}
