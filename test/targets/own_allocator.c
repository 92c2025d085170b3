// SPDX-License-Identifier: Apache-2.0
// An allocator on top of mmap that has the C library's names, or jemalloc's with a prefix. Whoever gives a block back
// says the truth about it, or the program ends. No public function calls another one: only a hook of its own sees what
// it does.
#include <errno.h>
#include <sched.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "own_allocator.h"

enum { PAGE = 4096, CLASSES = 32, LEAST_CLASS = 6, ALIVE = 0x600d, MULTIPLE = alignof(max_align_t) };

// Stands before its block.
struct piece {
	char *start; // of 2^class bytes
	size_t size; // as asked for
	unsigned class, alive;
	size_t alignment;
};

static char *unused[CLASSES]; // lists; the next one's address is at the start of each
static atomic_flag locked = ATOMIC_FLAG_INIT;

static struct piece *piece_of(void *block)
{
	struct piece *piece = (struct piece *)block - 1;

	if (piece->alive != ALIVE)
		abort();
	return piece;
}

// New memory is cut into as many as fill a piece of 64 KiB.
static char *take(unsigned class)
{
	size_t size = (size_t)1 << class, all = size > 1 << 16 ? size : 1 << 16;
	char *start;

	while (atomic_flag_test_and_set(&locked))
		sched_yield();
	if (!unused[class]) {
		start = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		for (size_t at = 0; start != MAP_FAILED && at < all; at += size) {
			*(char **)(void *)(start + at) = unused[class];
			unused[class] = start + at;
		}
	}
	start = unused[class];
	if (start)
		unused[class] = *(char **)(void *)start;
	atomic_flag_clear(&locked);
	return start;
}

static FUNCTION void *make(size_t alignment, size_t size)
{
	unsigned class = LEAST_CLASS;
	struct piece *piece;
	uintptr_t block;
	char *start;

	if (alignment < MULTIPLE)
		alignment = MULTIPLE;
	while (class < CLASSES && (size_t)1 << class < sizeof(*piece) + alignment + size)
		class ++;
	start = class < CLASSES ? take(class) : NULL;
	if (!start) {
		errno = ENOMEM;
		return NULL;
	}
	block = ((uintptr_t)start + sizeof(*piece) + alignment - 1) & ~(alignment - 1);
	piece = (struct piece *)block - 1;
	*piece = (struct piece){ start, size, class, ALIVE, alignment };
	memset(piece + 1, 0x5a, size);
	return piece + 1;
}

static FUNCTION void give(void *block)
{
	struct piece *piece;

	if (!block)
		return;
	piece = piece_of(block);
	piece->alive = 0;
	while (atomic_flag_test_and_set(&locked))
		sched_yield();
	*(char **)(void *)piece->start = unused[piece->class];
	unused[piece->class] = piece->start;
	atomic_flag_clear(&locked);
}

static FUNCTION void *make_zeroed(size_t count, size_t size)
{
	size_t bytes;
	void *block;

	if (__builtin_mul_overflow(count, size, &bytes))
		return NULL;
	block = make(MULTIPLE, bytes);
	return block ? memset(block, 0, bytes) : NULL;
}

static FUNCTION void *change(void *block, size_t size)
{
	void *other = make(MULTIPLE, size);
	size_t kept = block ? piece_of(block)->size : 0;

	if (!other)
		return NULL;
	memcpy(other, block ? block : other, kept < size ? kept : size);
	give(block);
	return other;
}

static FUNCTION int make_at(void **ret, size_t alignment, size_t size)
{
	*ret = make(alignment, size);
	return *ret ? 0 : ENOMEM;
}

static FUNCTION void give_sized(void *block, size_t alignment, size_t size)
{
	if (block && (piece_of(block)->size != size || (alignment && piece_of(block)->alignment != alignment)))
		abort();
	give(block);
}

#ifdef NESTED
FUNCTION void *NAME(malloc)(size_t size)
{
	void *block;

	return NAME(posix_memalign)(&block, MULTIPLE, size) == 0 ? block : NULL;
}
#else
FUNCTION void *NAME(malloc)(size_t size) { return make(MULTIPLE, size); }
#endif
FUNCTION void *NAME(calloc)(size_t count, size_t size) { return make_zeroed(count, size); }
FUNCTION void *NAME(realloc)(void *block, size_t size) { return change(block, size); }
FUNCTION void NAME(free)(void *block) { give(block); }
FUNCTION void NAME(free_sized)(void *block, size_t size) { give_sized(block, 0, size); }
FUNCTION void NAME(free_aligned_sized)(void *block, size_t alignment, size_t size)
{
	give_sized(block, alignment, size);
}
FUNCTION int NAME(posix_memalign)(void **ret, size_t alignment, size_t size) { return make_at(ret, alignment, size); }
FUNCTION void *NAME(aligned_alloc)(size_t alignment, size_t size) { return make(alignment, size); }
FUNCTION void *NAME(memalign)(size_t alignment, size_t size) { return make(alignment, size); }
FUNCTION void *NAME(valloc)(size_t size) { return make(PAGE, size); }
FUNCTION void *NAME(pvalloc)(size_t size) { return make(PAGE, size); }

#ifdef PREFIX
static size_t room(const struct piece *piece)
{
	return (size_t)(piece->start + ((size_t)1 << piece->class) - (const char *)(piece + 1));
}

static FUNCTION void *make_as_said(size_t size, int flags)
{
	void *block = make((size_t)1 << (flags & 63), size);

	return block && flags & ZEROED ? memset(block, 0, size) : block;
}

static FUNCTION size_t change_in_place(void *block, size_t size, size_t extra, int flags)
{
	struct piece *piece = piece_of(block);

	if (flags)
		abort();
	if (size <= room(piece))
		piece->size = size + extra < room(piece) ? size + extra : room(piece);
	return room(piece);
}

static FUNCTION void *change_as_said(void *block, size_t size, int flags)
{
	if (flags)
		abort();
	return change(block, size);
}

static FUNCTION void give_as_said(void *block, size_t size, int flags)
{
	give_sized(block, (size_t)1 << (flags & 63) < MULTIPLE ? MULTIPLE : (size_t)1 << (flags & 63), size);
}

FUNCTION void *NAME(mallocx)(size_t size, int flags) { return make_as_said(size, flags); }
FUNCTION void *NAME(rallocx)(void *block, size_t size, int flags) { return change_as_said(block, size, flags); }
FUNCTION size_t NAME(xallocx)(void *block, size_t size, size_t extra, int flags)
{
	return change_in_place(block, size, extra, flags);
}
FUNCTION void NAME(dallocx)(void *block, int flags) { give_as_said(block, piece_of(block)->size, flags); }
FUNCTION void NAME(sdallocx)(void *block, size_t size, int flags) { give_as_said(block, size, flags); }
#endif
