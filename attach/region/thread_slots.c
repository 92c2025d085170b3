// SPDX-License-Identifier: Apache-2.0
#include "attach/region/thread_slots.h"

#include "attach/ptrace/thread_pointers.h"
#include "attach/region/state_pages.h"
#include "base/cleanup.h"

#include <stdlib.h>

static int by_number(const void *left, const void *right)
{
	const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return (a > b) - (a < b);
}

struct hs_error *thread_slots_list(const struct region_access *access, uint64_t **offsets_ret, size_t *count_ret)
{
	const struct stable_layout *layout = &access->header.stable.layout;
	HS_CLEANUP_FREE uint64_t *used = calloc(layout->slot_count / 64 + 1, sizeof(*used));
	HS_CLEANUP_FREE uint64_t *offsets = NULL;
	HS_CLEANUP_FREE uint32_t *pages = NULL;
	struct hs_error *error;
	// 0 means that the thread has not begun. Of a version that can only be detached no more is known.
	const uint64_t first_page = access->layout ? access->layout->pages / HS_PAGE_SIZE : 1;
	uint32_t extra = 0;
	size_t count = 0;

	*count_ret = 0;
	if (!used)
		return &hs_error_no_memory;
	error = region_read(access, layout->used_slots, used, layout->slot_count / 8);
	if (!error)
		error = region_read(access, layout->extra_slot_count, &extra, sizeof(extra));
	if (error)
		return error;
	extra = extra < layout->extra_slots_max ? extra : layout->extra_slots_max;
	pages = calloc(extra + 1u, sizeof(*pages));
	offsets = calloc((size_t)layout->slot_count + extra + 1, sizeof(*offsets));
	if (!pages || !offsets)
		return &hs_error_no_memory;
	for (uint32_t i = 0; i < layout->slot_count; i++)
		if (used[i / 64] >> (i % 64) & 1)
			offsets[count++] = layout->slots + (uint64_t)i * layout->slot_stride;
	error = extra ? region_read(access, layout->extra_slots, pages, extra * sizeof(*pages)) : NULL;
	if (error)
		return error;
	qsort(pages, extra, sizeof(*pages), by_number);
	for (uint32_t i = 0; i < extra; i++)
		if (thread_slot_fits(layout, first_page, access->size / HS_PAGE_SIZE, pages[i]) &&
		    (i == 0 || pages[i] != pages[i - 1]))
			offsets[count++] = (uint64_t)pages[i] * HS_PAGE_SIZE;
	*offsets_ret = HS_STEAL_POINTER(offsets);
	*count_ret = count;
	return NULL;
}

struct hs_error *thread_slots_release(const struct region_access *access, const struct frozen_process *frozen)
{
	const uint64_t ended = HS_KEY_ENDED;
	HS_CLEANUP_FREE uint64_t *offsets = NULL;
	struct thread_pointers alive;
	struct hs_error *error;
	size_t count = 0;

	// Those of an earlier version are kept: its payload makes others, or says that there is no room.
	if (!region_layout_is_own(access->layout) || access->header.thread_count < HS_THREAD_SLOTS / 4)
		return NULL;
	error = thread_pointers_list(frozen, &alive);
	if (error)
		return error;
	error = thread_slots_list(access, &offsets, &count);
	for (size_t i = 0; i < count && !error; i++) {
		struct shared_slot slot;

		error = region_read(access, offsets[i], &slot, offsetof(struct shared_slot, pending_new));
		// A hook that is running, in a process that shares the memory without being one of the threads, keeps
		// its slot.
		if (error || !thread_key_is_taken(slot.thread_pointer) || slot.guard || slot.pending ||
		    thread_pointers_users(&alive, thread_key_pointer(slot.thread_pointer)) >
			    (slot.thread_pointer & HS_KEY_SHARED ? 1 : 0))
			continue;
		error = region_write(access, offsets[i] + offsetof(struct shared_slot, thread_pointer), &ended,
				     sizeof(ended));
	}
	thread_pointers_deinit(&alive);
	// So that the sampling credits of ended threads keep none of the others from having one.
	return error ? error
		     : state_pages_take_credits(&access->memory, access->header.stable.state_address,
						frozen->threads[0].tid);
}
