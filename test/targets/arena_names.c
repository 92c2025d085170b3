// SPDX-License-Identifier: Apache-2.0
// An allocator on top of mmap, under the names of those that no package of the distribution has, or has with other
// insides: mozjemalloc's arenas, rpmalloc with its heaps, snmalloc, Hoard's, GLib's slices. Functions check what they
// are given: an arena is the one that the caller has, sizes are the block's own. Commands on standard input:
//   work       each site makes blocks and gives most of them back; prints {"site", "objects", "bytes", "calls"} for
//              each, then {"end": sites}
//   finish     gives the rest back; prints "ok"
//   chain      gives a list of slices back at once; prints how many
//   all        makes blocks in a heap and gives the heap's all back, twice; prints how many blocks there were
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "commands.h"

#define FUNCTION __attribute__((noipa))
#define STAY()   __asm__ volatile("" ::: "memory") // no tail call
#define EXPECT(condition)                                                                                              \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			abort();                                                                                       \
	} while (0)

enum { ARENA = 7, ALIGNMENT = 64, KEPT = 16, WORK = 100, CLASSES = 16, LEAST = 6, LISTED = 20 };

struct piece {
	size_t size, class;
	void *owner;
	char *start;
};

static char *unused[CLASSES];

static FUNCTION void *take(void *owner, size_t alignment, size_t size)
{
	size_t class = LEAST;
	struct piece *piece;
	uintptr_t block;
	char *start;

	while (class < CLASSES && (size_t)1 << class < size + alignment + sizeof(*piece))
		class ++;
	if (class == CLASSES)
		return NULL;
	if (!unused[class]) {
		start = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		for (size_t at = 0; at < 1 << 16; at += (size_t)1 << class) {
			*(char **)(void *)(start + at) = unused[class];
			unused[class] = start + at;
		}
	}
	start = unused[class];
	unused[class] = *(char **)(void *)start;
	block = ((uintptr_t)start + sizeof(*piece) + alignment - 1) & ~(alignment - 1);
	piece = (struct piece *)block - 1;
	*piece = (struct piece){ size, class, owner, start };
	memset(piece + 1, 0, size);
	return piece + 1;
}

static FUNCTION void give(void *owner, void *block)
{
	struct piece *piece = (struct piece *)block - 1;

	if (!block)
		return;
	EXPECT(piece->owner == owner);
	*(char **)(void *)piece->start = unused[piece->class];
	unused[piece->class] = piece->start;
}

static FUNCTION void *change(void *owner, void *block, size_t alignment, size_t size)
{
	void *other = take(owner, alignment, size);
	size_t old = block ? ((struct piece *)block - 1)->size : 0;

	if (other && block) {
		memcpy(other, block, old < size ? old : size);
		give(owner, block);
	}
	return other;
}

static struct heap {
	int unused;
} heap;
static void *in_heap[LISTED];
static int in_heap_count;

#define ARENA_OWNER(id) (EXPECT_EQUAL((id), ARENA), (void *)&unused[0])
static size_t EXPECT_EQUAL(size_t value, size_t expected)
{
	EXPECT(value == expected);
	return value;
}

FUNCTION void *moz_arena_malloc(size_t arena, size_t size) { return take(ARENA_OWNER(arena), 16, size); }
FUNCTION void *moz_arena_calloc(size_t arena, size_t count, size_t size)
{
	return take(ARENA_OWNER(arena), 16, count * size);
}
FUNCTION void *moz_arena_realloc(size_t arena, void *block, size_t size)
{
	return change(ARENA_OWNER(arena), block, 16, size);
}
FUNCTION void *moz_arena_memalign(size_t arena, size_t alignment, size_t size)
{
	return take(ARENA_OWNER(arena), alignment, size);
}
FUNCTION void moz_arena_free(size_t arena, void *block) { give(ARENA_OWNER(arena), block); }

FUNCTION size_t rpmalloc_usable_size(void *block) { return ((struct piece *)block - 1)->size; }
FUNCTION void *rpmalloc(size_t size) { return take(NULL, 16, size); }
FUNCTION void *rpzalloc(size_t size) { return take(NULL, 16, size); }
FUNCTION void *rpcalloc(size_t count, size_t size) { return take(NULL, 16, count * size); }
FUNCTION void *rprealloc(void *block, size_t size) { return change(NULL, block, 16, size); }
FUNCTION void rpfree(void *block) { give(NULL, block); }
FUNCTION void *rpaligned_alloc(size_t alignment, size_t size) { return take(NULL, alignment, size); }
FUNCTION void *rpaligned_calloc(size_t alignment, size_t count, size_t size)
{
	return take(NULL, alignment, count * size);
}
FUNCTION void *rpaligned_realloc(void *block, size_t alignment, size_t size, size_t old, unsigned flags)
{
	EXPECT(flags == 0 && (!block || rpmalloc_usable_size(block) == old));
	return change(NULL, block, alignment, size);
}
FUNCTION void *rpmemalign(size_t alignment, size_t size) { return take(NULL, alignment, size); }
FUNCTION int rpposix_memalign(void **ret, size_t alignment, size_t size)
{
	*ret = take(NULL, alignment, size);
	return *ret ? 0 : 12;
}
FUNCTION struct heap *rpmalloc_heap_acquire(void) { return &heap; }
FUNCTION void *rpmalloc_heap_alloc(struct heap *of, size_t size) { return take(of, 16, size); }
FUNCTION void *rpmalloc_heap_aligned_alloc(struct heap *of, size_t alignment, size_t size)
{
	return take(of, alignment, size);
}
FUNCTION void *rpmalloc_heap_calloc(struct heap *of, size_t count, size_t size) { return take(of, 16, count * size); }
FUNCTION void *rpmalloc_heap_aligned_calloc(struct heap *of, size_t alignment, size_t count, size_t size)
{
	return take(of, alignment, count * size);
}
FUNCTION void *rpmalloc_heap_realloc(struct heap *of, void *block, size_t size, unsigned flags)
{
	EXPECT(flags == 0);
	return change(of, block, 16, size);
}
FUNCTION void *rpmalloc_heap_aligned_realloc(struct heap *of, void *block, size_t alignment, size_t size,
					     unsigned flags)
{
	EXPECT(flags == 0);
	return change(of, block, alignment, size);
}
FUNCTION void rpmalloc_heap_free(struct heap *of, void *block) { give(of, block); }
FUNCTION void rpmalloc_heap_free_all(struct heap *of)
{
	while (in_heap_count)
		give(of, in_heap[--in_heap_count]);
}

FUNCTION size_t sn_malloc_usable_size(void *block) { return ((struct piece *)block - 1)->size; }
FUNCTION void *sn_malloc(size_t size) { return take(NULL, 16, size); }
FUNCTION void *sn_calloc(size_t count, size_t size) { return take(NULL, 16, count * size); }
FUNCTION void *sn_realloc(void *block, size_t size) { return change(NULL, block, 16, size); }
FUNCTION void *sn_reallocarray(void *block, size_t count, size_t size) { return change(NULL, block, 16, count * size); }
FUNCTION int sn_reallocarr(void *where, size_t count, size_t size)
{
	void *block = change(NULL, *(void **)where, 16, count * size);

	if (block)
		*(void **)where = block;
	return block ? 0 : 12;
}
FUNCTION void sn_free(void *block) { give(NULL, block); }
FUNCTION void *sn_memalign(size_t alignment, size_t size) { return take(NULL, alignment, size); }
FUNCTION void *sn_aligned_alloc(size_t alignment, size_t size) { return take(NULL, alignment, size); }
FUNCTION void *sn_rust_alloc(size_t alignment, size_t size) { return take(NULL, alignment, size); }
FUNCTION void *sn_rust_alloc_zeroed(size_t alignment, size_t size) { return take(NULL, alignment, size); }
FUNCTION void *sn_rust_realloc(void *block, size_t alignment, size_t old, size_t size)
{
	EXPECT(sn_malloc_usable_size(block) == old);
	return change(NULL, block, alignment, size);
}
FUNCTION void sn_rust_dealloc(void *block, size_t alignment, size_t size)
{
	EXPECT(alignment == ALIGNMENT && sn_malloc_usable_size(block) == size);
	give(NULL, block);
}

FUNCTION size_t xxmalloc_usable_size(void *block) { return ((struct piece *)block - 1)->size; }
FUNCTION void *xxmalloc(size_t size) { return take(NULL, 16, size); }
FUNCTION void *xxmemalign(size_t alignment, size_t size) { return take(NULL, alignment, size); }
FUNCTION void xxfree(void *block) { give(NULL, block); }

FUNCTION void *g_slice_alloc(size_t size) { return take(NULL, 16, size); }
FUNCTION void *g_slice_alloc0(size_t size) { return take(NULL, 16, size); }
FUNCTION void *g_slice_copy(size_t size, const void *from)
{
	void *block = take(NULL, 16, size);

	return memcpy(block, from, size);
}
FUNCTION void g_slice_free1(size_t size, void *block)
{
	EXPECT(((struct piece *)block - 1)->size == size);
	give(NULL, block);
}
FUNCTION void g_slice_free_chain_with_offset(size_t size, void *block, size_t offset)
{
	while (block) {
		void *next = *(void **)(void *)((char *)block + offset);

		EXPECT(((struct piece *)block - 1)->size == size);
		give(NULL, block);
		block = next;
	}
}

// MAKE(site, statements that set `block`)
#define MAKE(name, ...)                                                                                                \
	FUNCTION void *site_##name(size_t size)                                                                        \
	{                                                                                                              \
		void *block = NULL;                                                                                    \
		(void)size;                                                                                            \
		__VA_ARGS__;                                                                                           \
		STAY();                                                                                                \
		return block;                                                                                          \
	}
#define TWICE(first, second)                                                                                           \
	block = first;                                                                                                 \
	STAY();                                                                                                        \
	block = second

MAKE(moz_malloc, block = moz_arena_malloc(ARENA, size))
MAKE(moz_calloc, block = moz_arena_calloc(ARENA, size / 8, 8))
MAKE(moz_realloc, TWICE(moz_arena_realloc(ARENA, NULL, 2 * size), moz_arena_realloc(ARENA, block, size)))
MAKE(moz_memalign, block = moz_arena_memalign(ARENA, ALIGNMENT, size))
MAKE(rp_malloc, block = rpmalloc(size))
MAKE(rp_zalloc, block = rpzalloc(size))
MAKE(rp_calloc, block = rpcalloc(size / 8, 8))
MAKE(rp_realloc, TWICE(rprealloc(NULL, 3 * size), rprealloc(block, size)))
MAKE(rp_aligned_alloc, block = rpaligned_alloc(ALIGNMENT, size))
MAKE(rp_aligned_calloc, block = rpaligned_calloc(ALIGNMENT, size / 8, 8))
MAKE(rp_aligned_realloc,
     TWICE(rpaligned_realloc(NULL, ALIGNMENT, 2 * size, 0, 0), rpaligned_realloc(block, ALIGNMENT, size, 2 * size, 0)))
MAKE(rp_memalign, block = rpmemalign(ALIGNMENT, size))
MAKE(rp_posix_memalign, EXPECT(rpposix_memalign(&block, ALIGNMENT, size) == 0))
MAKE(heap_alloc, block = rpmalloc_heap_alloc(&heap, size))
MAKE(heap_aligned_alloc, block = rpmalloc_heap_aligned_alloc(&heap, ALIGNMENT, size))
MAKE(heap_calloc, block = rpmalloc_heap_calloc(&heap, size / 8, 8))
MAKE(heap_aligned_calloc, block = rpmalloc_heap_aligned_calloc(&heap, ALIGNMENT, size / 8, 8))
MAKE(heap_realloc, TWICE(rpmalloc_heap_realloc(&heap, NULL, 2 * size, 0), rpmalloc_heap_realloc(&heap, block, size, 0)))
MAKE(heap_aligned_realloc, TWICE(rpmalloc_heap_aligned_realloc(&heap, NULL, ALIGNMENT, 2 * size, 0),
				 rpmalloc_heap_aligned_realloc(&heap, block, ALIGNMENT, size, 0)))
MAKE(sn_malloc, block = sn_malloc(size))
MAKE(sn_calloc, block = sn_calloc(size / 8, 8))
MAKE(sn_realloc, TWICE(sn_realloc(NULL, 2 * size), sn_realloc(block, size)))
MAKE(sn_reallocarray, TWICE(sn_reallocarray(NULL, size, 2), sn_reallocarray(block, size / 8, 8)))
MAKE(sn_reallocarr, EXPECT(sn_reallocarr(&block, size, 2) == 0); STAY();
     EXPECT(sn_reallocarr(&block, size / 8, 8) == 0))
MAKE(sn_memalign, block = sn_memalign(ALIGNMENT, size))
MAKE(sn_aligned_alloc, block = sn_aligned_alloc(ALIGNMENT, size))
MAKE(sn_rust_alloc, block = sn_rust_alloc(ALIGNMENT, size))
MAKE(sn_rust_alloc_zeroed, block = sn_rust_alloc_zeroed(ALIGNMENT, size))
MAKE(sn_rust_realloc, TWICE(sn_rust_alloc(ALIGNMENT, 2 * size), sn_rust_realloc(block, ALIGNMENT, 2 * size, size)))
MAKE(xx_malloc, block = xxmalloc(size))
MAKE(xx_memalign, block = xxmemalign(ALIGNMENT, size))
MAKE(slice_alloc, block = g_slice_alloc(size))
MAKE(slice_alloc0, block = g_slice_alloc0(size))
MAKE(slice_copy, static const char zeros[4096]; block = g_slice_copy(size, zeros))
MAKE(listed, block = g_slice_alloc(size))
MAKE(whole, block = rpmalloc_heap_alloc(&heap, size))

static void by_arena(void *block, size_t size)
{
	(void)size;
	moz_arena_free(ARENA, block);
}
static void by_rpfree(void *block, size_t size)
{
	(void)size;
	rpfree(block);
}
static void by_heap(void *block, size_t size)
{
	(void)size;
	rpmalloc_heap_free(&heap, block);
}
static void by_sn_free(void *block, size_t size)
{
	(void)size;
	sn_free(block);
}
static void by_dealloc(void *block, size_t size) { sn_rust_dealloc(block, ALIGNMENT, size); }
static void by_xxfree(void *block, size_t size)
{
	(void)size;
	xxfree(block);
}
static void by_free1(void *block, size_t size) { g_slice_free1(size, block); }

#define SITE(name, give, calls)                                                                                        \
	{                                                                                                              \
		"site_" #name, site_##name, give, calls, { 0 }                                                         \
	}
static struct site {
	const char *name;
	void *(*make)(size_t size);
	void (*give)(void *block, size_t size);
	unsigned calls; // for a block
	void *kept[KEPT];
} sites[] = {
	SITE(moz_malloc, by_arena, 1),          SITE(moz_calloc, by_arena, 1),
	SITE(moz_realloc, by_arena, 2),         SITE(moz_memalign, by_arena, 1),
	SITE(rp_malloc, by_rpfree, 1),          SITE(rp_zalloc, by_rpfree, 1),
	SITE(rp_calloc, by_rpfree, 1),          SITE(rp_realloc, by_rpfree, 2),
	SITE(rp_aligned_alloc, by_rpfree, 1),   SITE(rp_aligned_calloc, by_rpfree, 1),
	SITE(rp_aligned_realloc, by_rpfree, 2), SITE(rp_memalign, by_rpfree, 1),
	SITE(rp_posix_memalign, by_rpfree, 1),  SITE(heap_alloc, by_heap, 1),
	SITE(heap_aligned_alloc, by_heap, 1),   SITE(heap_calloc, by_heap, 1),
	SITE(heap_aligned_calloc, by_heap, 1),  SITE(heap_realloc, by_heap, 2),
	SITE(heap_aligned_realloc, by_heap, 2), SITE(sn_malloc, by_sn_free, 1),
	SITE(sn_calloc, by_sn_free, 1),         SITE(sn_realloc, by_sn_free, 2),
	SITE(sn_reallocarray, by_sn_free, 2),   SITE(sn_reallocarr, by_sn_free, 2),
	SITE(sn_memalign, by_sn_free, 1),       SITE(sn_aligned_alloc, by_sn_free, 1),
	SITE(sn_rust_alloc, by_dealloc, 1),     SITE(sn_rust_alloc_zeroed, by_dealloc, 1),
	SITE(sn_rust_realloc, by_dealloc, 2),   SITE(xx_malloc, by_xxfree, 1),
	SITE(xx_memalign, by_xxfree, 1),        SITE(slice_alloc, by_free1, 1),
	SITE(slice_alloc0, by_free1, 1),        SITE(slice_copy, by_free1, 1),
};
enum { SITES = sizeof(sites) / sizeof(sites[0]) };

static size_t size_of(size_t number) { return 8 * (3 + 5 * number); }

static void work(struct site *site)
{
	size_t bytes = 0;

	for (size_t i = 0; i < WORK; i++)
		site->give(site->make(size_of(i % KEPT)), size_of(i % KEPT));
	for (size_t i = 0; i < KEPT; i++) {
		site->kept[i] = site->make(size_of(i));
		bytes += size_of(i);
	}
	printf("{\"site\": \"%s\", \"objects\": %d, \"bytes\": %zu, \"calls\": %u}\n", site->name, KEPT, bytes,
	       (WORK + KEPT) * site->calls);
}

static void finish(void)
{
	for (size_t s = 0; s < SITES; s++)
		for (size_t i = 0; i < KEPT; i++)
			sites[s].give(sites[s].kept[i], size_of(i));
	puts("ok");
}

static void chain(void)
{
	void *first = NULL;

	for (int i = 0; i < LISTED; i++) {
		void *block = site_listed(48);

		((void **)block)[2] = first;
		first = block;
	}
	g_slice_free_chain_with_offset(48, first, 2 * sizeof(void *));
	printf("%d\n", LISTED);
}

static void all(void)
{
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < LISTED; i++)
			in_heap[in_heap_count++] = site_whole(32);
		rpmalloc_heap_free_all(&heap);
	}
	printf("%d\n", LISTED);
}

int main(void)
{
	const char *command;

	say_ready();
	while ((command = next_command())) {
		if (strcmp(command, "work") == 0) {
			for (size_t i = 0; i < SITES; i++)
				work(&sites[i]);
			printf("{\"end\": %d}\n", (int)SITES);
		} else if (strcmp(command, "finish") == 0) {
			finish();
		} else if (strcmp(command, "chain") == 0) {
			chain();
		} else if (strcmp(command, "all") == 0) {
			all();
		}
	}
	return 0;
}
