// SPDX-License-Identifier: Apache-2.0
#include "snapshot/copy/table_copy.h"

#include "attach/region/table_walk.h"
#include "base/available_memory.h"
#include "inject/abi/page.h"
#include "snapshot/copy/racing_memory.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// How much of the region's own memory is mapped at a time while it is copied, bytes: all of it would count as the
// tool's.
enum { SHARED_STEP = 4 << 20 };

// A target can fill its region far beyond what it was made for.
struct hs_error *table_copy_take_room(struct table_copy *copy, uint64_t size)
{
	if (size > copy->room - copy->copied)
		return hs_error_create(HS_ERROR_REFUSED,
				       "a copy of the region needs more than the %" PRIu64 " MiB of memory that are "
				       "available",
				       copy->room >> 20);
	copy->copied += size;
	return NULL;
}

void table_copy_forget_shared(const struct table_copy *copy, uint64_t start, uint64_t end)
{
	start = page_of(start);
	// If the memory is shared, this gives up the mapping of the pages, not what is in them. Where it fails, the
	// tool is only larger.
	(void)madvise((void *)(uintptr_t)(copy->shared + start), end - start, MADV_DONTNEED);
}

static void copy_shared(uint64_t start, uint64_t end, struct table_copy *copy)
{
	// Whole words: where a part ends within one, the copy has room for it.
	start &= ~(uint64_t)7;
	end = (end + 7) & ~(uint64_t)7;
	for (uint64_t next, at = start; at < end; at = next) {
		next = end - at > SHARED_STEP ? at + SHARED_STEP : end;
		racing_copy(copy->bytes + at, copy->shared + at, next - at);
		if (next - at == SHARED_STEP)
			table_copy_forget_shared(copy, at, next);
	}
	for (uint64_t page = start / HS_PAGE_SIZE; page <= (end - 1) / HS_PAGE_SIZE; page++)
		copy->pages[page / 64] |= UINT64_C(1) << (page % 64);
}

static struct hs_error *copy_range(const struct region_access *access, uint64_t start, uint64_t end,
				   struct table_copy *copy)
{
	struct hs_error *error;

	if (end > copy->size)
		end = copy->size;
	if (start >= end)
		return NULL;
	error = table_copy_take_room(copy, end - start);
	if (error)
		return error;
	if (!copy->shared)
		return region_read(access, start, copy->bytes + start, end - start);
	copy_shared(start, end, copy);
	return NULL;
}

bool table_copy_has(const struct table_copy *copy, uint64_t offset)
{
	uint64_t page = offset / HS_PAGE_SIZE;

	return offset < copy->size && copy->pages[page / 64] >> (page % 64) & 1;
}

// The region's memory is sparse, and reading a hole through a mapping would fill it: the file system names the written
// ranges.
static struct hs_error *copy_written(const struct region_access *access, uint64_t start, uint64_t end,
				     struct table_copy *copy)
{
	struct hs_error *error = NULL;

	while (start < end && !error) {
		off_t data = lseek(access->fd, (off_t)start, SEEK_DATA);
		off_t hole;

		if (data < 0)
			return errno == ENXIO ? NULL
					      : hs_error_system(errno, "cannot find the written parts of the region");
		if ((uint64_t)data >= end)
			return NULL;
		hole = lseek(access->fd, data, SEEK_HOLE);
		if (hole < 0)
			return hs_error_system(errno, "cannot find the written parts of the region");
		error = copy_range(access, (uint64_t)data, (uint64_t)hole < end ? (uint64_t)hole : end, copy);
		start = (uint64_t)hole;
	}
	return error;
}

// Without the region's memory (no privilege to open it) every part is read whole, up to where it is used.
static struct hs_error *copy_used(const struct region_access *access, uint64_t start, uint64_t end,
				  struct table_copy *copy)
{
	return access->fd >= 0 ? copy_written(access, start, end, copy) : copy_range(access, start, end, copy);
}

// Each list is filled from its start; the header's counts have been checked.
static struct hs_error *copy_lists(const struct region_access *access, struct table_copy *copy)
{
	const struct region_header *header = copy->header;
	const struct region_layout *layout = copy->layout;
	uint64_t threads = header->thread_count < HS_THREAD_HISTORY_MAX ? header->thread_count : HS_THREAD_HISTORY_MAX;
	const struct {
		uint64_t offset, size;
	} lists[] = {
		{ layout->stable.hooks, (uint64_t)header->stable.hook_count * layout->stable.hook_stride },
		{ layout->modules.offset, header->module_count * sizeof(struct module_record) },
		{ layout->strings.offset, header->string_bytes },
		{ layout->threads.offset, threads * sizeof(struct thread_record) },
		{ layout->stable.extra_slots, header->extra_slot_count * sizeof(uint32_t) },
	};
	struct hs_error *error = NULL;

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]) && !error; i++)
		error = copy_used(access, lists[i].offset, lists[i].offset + lists[i].size, copy);
	return error;
}

// Puts this version's slot in the place of an earlier one's, which has room for it. Where none was written, none is.
static void translate_slot(struct table_copy *copy, uint64_t offset)
{
	uint8_t *place = copy->bytes + offset;
	struct shared_slot slot;
	uint64_t key;

	memcpy(&key, place + copy->layout->stable.key, sizeof(key));
	if (!copy->layout->translate_slot || !key)
		return;
	region_layout_slot(copy->layout, place, &slot);
	memcpy(place, &slot, sizeof(slot));
}

// Not what is the payload's own.
struct hs_error *table_copy_slot(const struct region_access *access, uint64_t offset, struct table_copy *copy)
{
	struct hs_error *error = copy_range(access, offset, offset + copy->layout->slot_size, copy);

	if (!error)
		translate_slot(copy, offset);
	return error;
}

// Copies each slot with a place of its own that was ever taken. The others are in pages.
static struct hs_error *copy_slots(const struct region_access *access, struct table_copy *copy)
{
	const struct stable_layout *layout = &copy->layout->stable;
	struct hs_error *error = NULL;

	for (uint32_t i = 0; i < HS_THREAD_SLOTS && !error; i++)
		if (copy->header->used_slots[i / 64] >> (i % 64) & 1)
			error = table_copy_slot(access, layout->slots + (uint64_t)i * layout->slot_stride, copy);
	return error;
}

// The slots in pages. Whatever the list says: what lies behind the pages that were copied is 0.
static void translate_extra_slots(struct table_copy *copy)
{
	const uint32_t *pages = (const uint32_t *)(copy->bytes + copy->layout->stable.extra_slots);

	for (uint32_t i = 0; i < copy->header->extra_slot_count; i++)
		if (table_extra_slot_fits(copy->layout, copy->size, pages[i]))
			translate_slot(copy, (uint64_t)pages[i] * HS_PAGE_SIZE);
}

static void *reserve(uint64_t size)
{
	void *place = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return place == MAP_FAILED ? NULL : place;
}

static uint64_t bitmap_size(const struct table_copy *copy) { return copy->size / HS_PAGE_SIZE / 8 + sizeof(uint64_t); }

static struct hs_error *make_room(const struct region_access *access, const uint8_t *shared, struct table_copy *ret)
{
	*ret = (struct table_copy){
		.size = access->size, .layout = access->layout, .room = hs_available_memory(), .shared = shared
	};
	ret->bytes = reserve(ret->size);
	if (ret->bytes && shared)
		ret->pages = reserve(bitmap_size(ret));
	if (ret->bytes && (ret->pages || !shared))
		return NULL;
	return hs_error_system(errno, "no address space for a copy of %" PRIu64 " MiB", ret->size >> 20);
}

static struct hs_error *copy_header(const struct region_access *access, struct table_copy *copy)
{
	struct hs_error *error = copy_range(access, 0, copy->layout->stable.hooks, copy);

	if (error)
		return error;
	copy->header = (struct region_header *)copy->bytes;
	if (copy->layout->translate_header) {
		copy->header = reserve(sizeof(*copy->header));
		if (!copy->header)
			return &hs_error_no_memory;
		region_layout_header(copy->layout, copy->bytes, copy->header);
	}
	if (copy->header->stable.abi_version != copy->layout->abi_version)
		return hs_error_create(HS_ERROR_BAD_DATA, "the region's header changed while it was read");
	return region_check_header(copy->header, copy->size);
}

// Root, tables and nodes are copied after what leads to them: in the order of the region's parts.
struct hs_error *table_copy_take(const struct region_access *access, const uint8_t *shared, struct table_copy *ret)
{
	const struct region_layout *layout = access->layout;
	struct hs_error *error = make_room(access, shared, ret);
	struct table_pages pages;

	if (!error)
		error = copy_header(access, ret);
	// Not the rule cache, and of the rest no more than is in use: where reading is through the target's memory, it
	// fills holes there.
	if (!error)
		error = copy_lists(access, ret);
	if (!error)
		error = copy_slots(access, ret);
	if (!error)
		error = copy_used(access, layout->buckets.offset, layout->pages, ret);
	// A chain of stacks begins with its newest node, perhaps in a page that was handed out since the header was
	// copied: without that page, all behind it would be lost.
	if (!error && shared)
		ret->header->next_page = racing_u64(&((const struct region_header *)shared)->next_page);
	if (!error) {
		table_pages_init(ret->header, ret->size, &pages);
		error = copy_used(access, layout->pages, pages.end * HS_PAGE_SIZE, ret);
	}
	if (!error)
		translate_extra_slots(ret);
	if (error)
		table_copy_deinit(ret);
	return error;
}

void table_copy_view(const struct table_copy *copy, struct table_view *ret)
{
	table_view_init(copy->layout, copy->header, copy->bytes, copy->size, ret);
	ret->grew = copy->shared != NULL;
}

void table_copy_deinit(struct table_copy *copy)
{
	if (copy->header && (uint8_t *)copy->header != copy->bytes)
		munmap(copy->header, sizeof(*copy->header));
	if (copy->bytes)
		munmap(copy->bytes, copy->size);
	if (copy->pages)
		munmap(copy->pages, bitmap_size(copy));
	copy->header = NULL;
	copy->bytes = NULL;
	copy->pages = NULL;
}
