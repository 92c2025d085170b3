// SPDX-License-Identifier: Apache-2.0
#include "attach/region/region_stable.h"

#include "attach/region/region_layout.h"
#include "inject/abi/payload_header.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

// Which no version exceeds (docs/abi.md, The part that never changes): no more than can be looked at while the target
// stands: the target may have written these counts.
enum { HOOKS_MAX = 8192, STRIDE_MAX = 1 << 20, SLOTS_ALL_MAX = 1 << 17, FORGOTTEN_MAX = 4096, STATE_MAX = 1 << 24 };
_Static_assert(HS_HOOKS_MAX <= HOOKS_MAX && HS_THREAD_SLOTS_ALL <= SLOTS_ALL_MAX &&
		       HS_FORGOTTEN_GUARDS <= FORGOTTEN_MAX && HS_SLOT_STRIDE <= STRIDE_MAX &&
		       HS_STATE_SIZE <= STATE_MAX,
	       "this version keeps what docs/abi.md promises");

void region_stable_begin(struct stable_header *header)
{
	header->abi_version = HS_ABI_VERSION;
	header->state_size = HS_STATE_SIZE;
	header->layout = region_layout_own.stable;
	snprintf(header->tool_version, sizeof(header->tool_version), "%s", HEAPSNAP_VERSION);
}

static bool is_inside(uint64_t offset, uint64_t size, uint64_t region_size)
{
	return offset % sizeof(uint32_t) == 0 && size <= region_size && offset <= region_size - size;
}

static bool is_in_slot(uint32_t offset, uint32_t size)
{
	return offset % sizeof(uint32_t) == 0 && offset <= HS_STABLE_SLOT_SIZE - size;
}

static bool counts_are_right(const struct stable_header *header)
{
	const struct stable_layout *layout = &header->layout;

	return header->hook_count <= HOOKS_MAX && header->island_count <= HS_ISLAND_AREAS_MAX &&
	       (uint64_t)layout->slot_count + layout->extra_slots_max <= SLOTS_ALL_MAX &&
	       layout->forgotten_count <= FORGOTTEN_MAX && layout->left_guards_count <= HS_STABLE_LEFT_GUARDS_MAX;
}

static bool slots_are_right(const struct stable_layout *layout)
{
	return layout->slot_stride >= HS_STABLE_SLOT_SIZE && layout->slot_stride <= STRIDE_MAX &&
	       layout->slot_stride % HS_PAGE_SIZE == 0 && layout->slot_count % 64 == 0 && is_in_slot(layout->key, 8) &&
	       is_in_slot(layout->guard, 8) && is_in_slot(layout->in_original, 4) && is_in_slot(layout->stack_low, 8) &&
	       is_in_slot(layout->stack_high, 8) && is_in_slot(layout->left_count, 4) &&
	       is_in_slot(layout->left_guards, layout->left_guards_count * 8);
}

static bool layout_is_right(const struct stable_header *header)
{
	const struct stable_layout *layout = &header->layout;
	const struct {
		uint64_t offset, size;
	} parts[] = {
		{ layout->hooks, (uint64_t)header->hook_count * layout->hook_stride },
		{ layout->slots, (uint64_t)layout->slot_count * layout->slot_stride },
		{ layout->used_slots, layout->slot_count / 8 },
		{ layout->extra_slots, (uint64_t)layout->extra_slots_max * sizeof(uint32_t) },
		{ layout->extra_slot_count, sizeof(uint32_t) },
		{ layout->forgotten_guards, (uint64_t)layout->forgotten_count * sizeof(uint64_t) },
		{ layout->guards_lost, sizeof(uint32_t) },
	};

	if (layout->hook_stride < sizeof(struct hook_record) || layout->hook_stride > STRIDE_MAX ||
	    !slots_are_right(layout))
		return false;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (!is_inside(parts[i].offset, parts[i].size, header->size))
			return false;
	return true;
}

struct hs_error *region_stable_check(const struct stable_header *header, uint64_t size)
{
	if (header->magic != HS_REGION_MAGIC)
		return hs_error_create(HS_ERROR_BAD_DATA, "the region's header is not heapsnap's");
	if (header->abi_version < HS_ABI_STABLE_SINCE)
		return hs_error_create(
			HS_ERROR_REFUSED,
			"the region is of an older heapsnap (ABI %u): only that version can read it; detach with it",
			header->abi_version);
	if (header->size != size)
		return hs_error_create(HS_ERROR_BAD_DATA, "the region's header is damaged: it names another size");
	if (header->state < REGION_ATTACHING || header->state > REGION_DETACHING || !counts_are_right(header) ||
	    header->state_size == 0 || header->state_size > STATE_MAX || header->state_size % HS_PAGE_SIZE != 0)
		return hs_error_create(HS_ERROR_BAD_DATA, "the region's header is damaged: a count is out of range");
	if (!layout_is_right(header))
		return hs_error_create(HS_ERROR_BAD_DATA, "the region's header is damaged: a part lies elsewhere");
	return NULL;
}

void region_make_printable(char *text, size_t size)
{
	text[size - 1] = 0;
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			*text = '?';
}

static void copy_version(const struct stable_header *header, char ret[sizeof(header->tool_version)])
{
	memcpy(ret, header->tool_version, sizeof(header->tool_version));
	region_make_printable(ret, sizeof(header->tool_version));
}

struct hs_error *region_check_version(const struct stable_header *header)
{
	char version[sizeof(header->tool_version)];

	copy_version(header, version);
	if (region_layout_find(header->abi_version))
		return NULL;
	if (header->abi_version > HS_ABI_VERSION)
		return hs_error_create(
			HS_ERROR_REFUSED,
			"it was attached by heapsnap %s (ABI %u), and this heapsnap %s (ABI %u) is too old to read "
			"that: use heapsnap %s, or detach it, which works with either",
			version, header->abi_version, HEAPSNAP_VERSION, HS_ABI_VERSION, version);
	return hs_error_create(
		HS_ERROR_REFUSED,
		"it was attached by heapsnap %s (ABI %u), which this heapsnap %s (ABI %u) can only detach: "
		"detach, then attach again",
		version, header->abi_version, HEAPSNAP_VERSION, HS_ABI_VERSION);
}

struct hs_error *region_check_own(const struct stable_header *header)
{
	struct hs_error *error = region_check_version(header);
	char version[sizeof(header->tool_version)];

	if (error || header->abi_version == HS_ABI_VERSION)
		return error;
	copy_version(header, version);
	return hs_error_create(HS_ERROR_REFUSED,
			       "it was attached by heapsnap %s (ABI %u); this heapsnap %s (ABI %u) can read that, but "
			       "change nothing: use heapsnap %s, or detach, then attach again",
			       version, header->abi_version, HEAPSNAP_VERSION, HS_ABI_VERSION, version);
}
