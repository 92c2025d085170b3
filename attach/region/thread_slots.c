// SPDX-License-Identifier: Apache-2.0
#include "attach/region/thread_slots.h"

#include "attach/ptrace/thread_pointers.h"
#include "attach/region/state_pages.h"
#include "base/cleanup.h"

#include <stdlib.h>

static bool is_slot_page(const struct region_header *header, uint32_t page)
{
	return page >= header->first_page && page + UINT64_C(0) + HS_THREAD_SLOT_PAGES <= header->max_pages;
}

struct hs_error *thread_slots_list(const struct region_access *access, uint64_t **offsets_ret, size_t *count_ret)
{
	HS_CLEANUP_FREE struct region_header *header = malloc(sizeof(*header));
	HS_CLEANUP_FREE uint64_t *offsets = calloc(HS_THREAD_SLOTS_ALL, sizeof(*offsets));
	HS_CLEANUP_FREE uint32_t *pages = NULL;
	struct hs_error *error;
	uint32_t extra;
	size_t count = 0;

	*count_ret = 0;
	if (!header || !offsets)
		return &hs_error_no_memory;
	error = region_read(access, 0, header, sizeof(*header));
	if (error)
		return error;
	for (uint32_t i = 0; i < HS_THREAD_SLOTS; i++)
		if (header->used_slots[i / 64] >> (i % 64) & 1)
			offsets[count++] = HS_OFFSET_SLOTS + i * HS_SLOT_STRIDE;
	extra = header->extra_slot_count < HS_THREAD_EXTRA_SLOTS ? header->extra_slot_count : HS_THREAD_EXTRA_SLOTS;
	pages = calloc(extra + 1u, sizeof(*pages));
	if (!pages)
		return &hs_error_no_memory;
	error = extra ? region_read(access, HS_OFFSET_EXTRA_SLOTS, pages, extra * sizeof(*pages)) : NULL;
	if (error)
		return error;
	for (uint32_t i = 0; i < extra; i++)
		if (is_slot_page(&access->header, pages[i]))
			offsets[count++] = (uint64_t)pages[i] * HS_PAGE_SIZE;
	*offsets_ret = HS_STEAL_POINTER(offsets);
	*count_ret = count;
	return NULL;
}

struct hs_error *thread_slots_release(const struct region_access *access, const struct frozen_process *process)
{
	const uint64_t ended = HS_KEY_ENDED;
	HS_CLEANUP_FREE uint64_t *offsets = NULL;
	struct thread_pointers alive;
	struct hs_error *error;
	size_t count = 0;

	if (access->header.thread_count < HS_THREAD_SLOTS / 4)
		return NULL;
	error = thread_pointers_list(process, &alive);
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
		     : state_pages_take_credits(&access->memory, access->header.state_address, process->threads[0].tid);
}
