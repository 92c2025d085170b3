// SPDX-License-Identifier: Apache-2.0
// Where in a region the slots of threads are: those with a place of their own, and those that the payload has made
// (docs/abi.md).
#ifndef HEAPSNAP_ATTACH_REGION_THREAD_SLOTS_H
#define HEAPSNAP_ATTACH_REGION_THREAD_SLOTS_H

#include "attach/region/region_access.h"
#include "inject/abi/page.h"
#include "inject/abi/region.h"

// Whether a further slot may begin at that page: behind the tables, where it is known where these end, and with all of
// it before the end, both in pages. The target writes the list of these pages. Pure.
static inline bool thread_slot_fits(const struct stable_layout *layout, uint64_t first_page, uint64_t end_page,
				    uint32_t page)
{
	const uint64_t pages = page_up(layout->slot_stride) / HS_PAGE_SIZE;

	return page >= first_page && end_page >= pages && page <= end_page - pages;
}

// Offsets in the region, of any version, of all slots that were ever taken. The caller frees them. What the list of a
// hostile target names twice is there once.
struct hs_error *thread_slots_list(const struct region_access *access, uint64_t **offsets_ret,
				   size_t *count_ret) HS_MUST_CHECK;

// Marks the slots of threads that are no more, so that new threads find room; their counters and totals stay. Does
// nothing while few threads have ever been seen. pre: every thread of the target is stopped.
struct hs_error *thread_slots_release(const struct region_access *access,
				      const struct frozen_process *frozen) HS_MUST_CHECK;

#endif
