// SPDX-License-Identifier: Apache-2.0
#include "attach/hook/island_place.h"

#include "attach/arch/addresses.h"
#include "attach/arch/jump.h"

#include <string.h>

#define KIB(n) ((uint64_t)(n) << 10)
#define MIB(n) ((uint64_t)(n) << 20)
#define GIB(n) ((uint64_t)(n) << 30)

#define REACH        HS_JUMP_REACH
#define GAP          KIB(64) // kept free to each mapping, so that small growth still has room
#define LOWEST       MIB(1) // above vm.mmap_min_addr (64 KiB), and away from what a null pointer with an offset reaches
#define HIGHEST      (ARCH_USER_END - MIB(16))
#define STACK_GROWTH MIB(256) // below the top of the main thread's stack
#define HEAP_GROWTH  GIB(1)
#define BRK_RANDOM   GIB(1) // the kernel starts the heap up to so far above the executable (arch_randomize_brk)

// Enough for the window, split once by each forbidden span.
#define SPANS_MAX 32

struct spans {
	struct address_span items[SPANS_MAX];
	size_t count;
};

static void forbid(struct spans *allowed, uint64_t low, uint64_t high)
{
	size_t count = allowed->count;

	for (size_t i = 0; i < count; i++) {
		struct address_span *span = &allowed->items[i];
		uint64_t end = span->high;

		if (high <= span->low || low >= end)
			continue;
		span->high = low > span->low ? low : span->low; // may leave it empty
		if (high < end && allowed->count < SPANS_MAX)
			allowed->items[allowed->count++] = (struct address_span){ high, end };
	}
}

static uint64_t find(const struct proc_maps *maps, const struct spans *allowed, uint64_t low, uint64_t high,
		     uint64_t size, bool from_top)
{
	uint64_t best = 0;

	for (size_t i = 0; i < allowed->count; i++) {
		uint64_t from = allowed->items[i].low > low ? allowed->items[i].low : low;
		uint64_t to = allowed->items[i].high < high ? allowed->items[i].high : high;
		uint64_t found = from < to ? proc_maps_find_hole(maps, from, to, size, GAP, from_top) : 0;

		if (found && (!best || (from_top ? found > best : found < best)))
			best = found;
	}
	return best;
}

bool island_span_is_small(struct address_span span) { return span.high - span.low <= GIB(1); }

uint64_t island_place(const struct proc_maps *maps, struct address_span span, uint64_t size, uint64_t program_end,
		      const struct address_span *taken, size_t taken_count)
{
	uint64_t low = span.high > REACH ? span.high - REACH : 0;
	uint64_t high = span.low < HIGHEST - REACH ? span.low + REACH : HIGHEST;
	struct spans allowed = { .count = 1 };
	bool has_heap = false;
	uint64_t found;

	if (low < LOWEST)
		low = LOWEST;
	if (low >= high)
		return 0;
	allowed.items[0] = (struct address_span){ low, high };
	for (size_t i = 0; i < maps->count; i++) {
		const struct proc_map *map = &maps->items[i];

		if (strcmp(map->name, "[heap]") == 0) {
			has_heap = true;
			forbid(&allowed, map->start, map->end + HEAP_GROWTH);
		} else if (strcmp(map->name, "[stack]") == 0) {
			forbid(&allowed, map->end > STACK_GROWTH ? map->end - STACK_GROWTH : 0, map->end);
		}
	}
	forbid(&allowed, program_end, program_end + HEAP_GROWTH + (has_heap ? 0 : BRK_RANDOM));
	for (size_t i = 0; i < taken_count; i++)
		forbid(&allowed, taken[i].low - GAP, taken[i].high + GAP);

	// Below first: above the lowest library come other libraries and the stack, above an executable its heap.
	found = find(maps, &allowed, low, span.low, size, true);
	return found ? found : find(maps, &allowed, span.low, high, size, false);
}
