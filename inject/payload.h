// SPDX-License-Identifier: Apache-2.0
// The payload's view of itself and of the region.
#ifndef HEAPSNAP_INJECT_PAYLOAD_H
#define HEAPSNAP_INJECT_PAYLOAD_H

#include "unwind/freestanding.h"

#include "inject/abi/payload_header.h"
#include "inject/abi/region.h"
#include "inject/thread_state.h"

#define HS_HIDDEN __attribute__((visibility("hidden")))

extern const struct payload_header payload_header HS_HIDDEN;

static inline uint64_t region_base(void) { return payload_header.config.region; }

static inline struct payload_state *payload_state(void) { return (struct payload_state *)payload_header.config.state; }

// False in a forked child, where the region is not.
static inline bool region_is_present(void) { return __atomic_load_n(&payload_state()->present, __ATOMIC_RELAXED) != 0; }

static inline struct region_header *region(void) { return (struct region_header *)region_base(); }

static inline void *region_at(uint64_t offset) { return (void *)(region_base() + offset); }

// pre: ref != 0
static inline void *region_ref(uint32_t ref) { return region_at((uint64_t)ref << HS_REF_SHIFT); }

static inline void *region_page(uint32_t page) { return region_at((uint64_t)page * HS_PAGE_SIZE); }

static inline uint32_t page_first_ref(uint32_t page) { return page << (HS_PAGE_SHIFT - HS_REF_SHIFT); }

// Whether the page that a thread's next unused record or node was handed out from has no more.
static inline bool page_is_used_up(uint32_t ref) { return ref % (1u << (HS_PAGE_SHIFT - HS_REF_SHIFT)) == 0; }

// Takes `count` pages, zeroed, never given back. 0 = the region is full.
static inline uint32_t region_take_pages(uint32_t count)
{
	struct region_header *header = region();
	uint64_t first;

	if (__atomic_load_n(&header->next_page, __ATOMIC_RELAXED) + count > header->max_pages)
		return 0;
	first = __atomic_fetch_add(&header->next_page, count, __ATOMIC_RELAXED);
	return first + count <= header->max_pages ? (uint32_t)first : 0;
}

// Its key. Other threads' compare-and-swaps come to it at any time, also while it is the reader's own slot.
static inline uint64_t slot_key(const struct thread_slot *slot)
{
	return __atomic_load_n(&slot->shared.thread_pointer, __ATOMIC_RELAXED);
}

static inline void count_up(uint64_t *counters, enum counter which, uint64_t by) { counters[which] += by; }

#endif
