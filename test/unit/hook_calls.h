// SPDX-License-Identifier: Apache-2.0
// The hooks' own C code, called around the libc's real functions, or others.
#ifndef HEAPSNAP_TEST_UNIT_HOOK_CALLS_H
#define HEAPSNAP_TEST_UNIT_HOOK_CALLS_H

#include "check.h"
#include "payload_region.h"

#include "inject/hook/hooks.h"
#include "inject/hook/thread_slot.h"

// An island whose trampoline is a jump to a function of the libc.
static inline const struct hook_island *make_island(struct hook_island *place, void *function, uint32_t index)
{
	// mov $function,%rax; jmp *%rax
	static const uint8_t jump[] = { 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0 };
	uint64_t address = (uint64_t)function;

	place->hook_index = index;
	memcpy(place->trampoline, jump, sizeof(jump));
	memcpy(place->trampoline + 2, &address, sizeof(address));
	return place;
}

static const struct hook_island *malloc_island, *calloc_island, *realloc_island, *free_island, *new_island;

// The functions that the hooks are around.
struct hooked_functions {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void (*free)(void *);
};

static struct hooked_functions hooked = { malloc, calloc, realloc, free };

static inline void make_islands(void)
{
	struct hook_island *islands =
		mmap(NULL, HS_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (islands == MAP_FAILED)
		exit(1);
	malloc_island = make_island(&islands[0], (void *)hooked.malloc, 0);
	calloc_island = make_island(&islands[1], (void *)hooked.calloc, 1);
	realloc_island = make_island(&islands[2], (void *)hooked.realloc, 2);
	free_island = make_island(&islands[3], (void *)hooked.free, 3);
	new_island = make_island(&islands[4], (void *)hooked.malloc, 4);
	islands[4].companion = (uint64_t)hooked.malloc;
	if (mprotect(islands, HS_PAGE_SIZE, PROT_READ | PROT_EXEC) != 0)
		exit(1);
}

typedef struct hook_result hook_function(uint64_t, uint64_t, uint64_t, const struct hook_island *,
					 const struct entry_frame *);

static inline void *result_of_hook(struct hook_result result)
{
	// A thread that lost the race for a slot asks again (thread_slot.c); its call goes unrecorded, which must not
	// happen twice.
	if (result.outcome != HOOK_DONE) {
		fprintf(stderr, "a call is not recorded\n");
		exit(1);
	}
	return (void *)result.value;
}

// What entry.S does, for a caller at a made-up place.
static inline void *call_hook(hook_function *hook, uint64_t a, uint64_t b, const struct hook_island *island,
			      uint64_t caller)
{
	struct entry_frame frame = { .return_address = 0x1000 + caller };

	return result_of_hook(hook(a, b, 0, island, &frame));
}

// The same for a hook with a fast path.
static inline void *call_fast_hook(hook_function *usual, hook_function *made, hook_function *hook, uint64_t a,
				   uint64_t b, const struct hook_island *island, uint64_t caller)
{
	struct entry_frame frame = { .return_address = 0x1000 + caller };
	struct hook_result result = usual(a, b, 0, island, &frame);

	if (result.outcome == HOOK_NOT_BEGUN)
		result = hook(a, b, 0, island, &frame);
	else if (result.outcome == HOOK_NOT_RECORDED)
		result = made(a, b, result.value, island, &frame);
	return result_of_hook(result);
}

static inline void *call_malloc(uint64_t size, const struct hook_island *island, uint64_t caller)
{
	return call_fast_hook(hook_malloc_fast, hook_malloc_made, hook_malloc, size, 0, island, caller);
}

static inline void *call_calloc(uint64_t count, uint64_t size, const struct hook_island *island, uint64_t caller)
{
	return call_fast_hook(hook_calloc_fast, hook_calloc_made, hook_calloc, count, size, island, caller);
}

static inline void *call_new(uint64_t size, const struct hook_island *island, uint64_t caller)
{
	return call_fast_hook(hook_new_fast, hook_new_made, hook_new, size, 0, island, caller);
}

static inline void release(void *block)
{
	uint64_t place = 0;

	hook_before_free((uint64_t)block, (uint64_t)&place, free_island);
	hooked.free(block);
}

#endif
