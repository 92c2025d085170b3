// SPDX-License-Identifier: Apache-2.0
#include "attach/region/region_layout.h"

#include "attach/region/layout_13.h"
#include "attach/region/layout_14.h"

#include <string.h>

const struct region_layout region_layout_own = {
	.abi_version = HS_ABI_VERSION,
	.header_size = sizeof(struct region_header),
	.slot_size = sizeof(struct shared_slot),
	.stable = {
		.hooks = HS_OFFSET_HOOKS,
		.slots = HS_OFFSET_SLOTS,
		.used_slots = offsetof(struct region_header, used_slots),
		.extra_slots = HS_OFFSET_EXTRA_SLOTS,
		.extra_slot_count = offsetof(struct region_header, extra_slot_count),
		.forgotten_guards = offsetof(struct region_header, forgotten_guards),
		.guards_lost = offsetof(struct region_header, guards_lost),
		.hook_stride = sizeof(struct hook_record),
		.slot_stride = HS_SLOT_STRIDE,
		.slot_count = HS_THREAD_SLOTS,
		.extra_slots_max = HS_THREAD_EXTRA_SLOTS,
		.forgotten_count = HS_FORGOTTEN_GUARDS,
		.key = offsetof(struct shared_slot, thread_pointer),
		.guard = offsetof(struct shared_slot, guard),
		.in_original = offsetof(struct shared_slot, in_original),
		.stack_low = offsetof(struct shared_slot, stack_low),
		.stack_high = offsetof(struct shared_slot, stack_high),
		.left_count = offsetof(struct shared_slot, left_count),
		.left_guards = offsetof(struct shared_slot, left_guards),
		.left_guards_count = HS_LEFT_GUARDS,
	},
	.modules = { HS_OFFSET_MODULES, HS_OFFSET_STRINGS - HS_OFFSET_MODULES },
	.strings = { HS_OFFSET_STRINGS, HS_OFFSET_THREADS - HS_OFFSET_STRINGS },
	.threads = { HS_OFFSET_THREADS, HS_OFFSET_SLOTS - HS_OFFSET_THREADS },
	.rules = { HS_OFFSET_RULES, HS_OFFSET_LOG - HS_OFFSET_RULES },
	.log = { HS_OFFSET_LOG, HS_OFFSET_BUCKETS - HS_OFFSET_LOG },
	.buckets = { HS_OFFSET_BUCKETS, HS_OFFSET_ROOT - HS_OFFSET_BUCKETS },
	.root = { HS_OFFSET_ROOT, HS_OFFSET_SAMPLES - HS_OFFSET_ROOT },
	.samples = { HS_OFFSET_SAMPLES, HS_SAMPLE_TABLE_SIZE },
	.pages = HS_OFFSET_PAGES,
};

_Static_assert(HS_LEFT_GUARDS <= HS_STABLE_LEFT_GUARDS_MAX && HS_THREAD_SLOTS % 64 == 0, "stable_layout");

// From the newest on.
static const struct region_layout *const frozen[] = { &region_layout_14, &region_layout_13 };

void region_layout_header(const struct region_layout *layout, const void *from, struct region_header *ret)
{
	if (layout->translate_header)
		layout->translate_header(from, ret);
	else
		memcpy(ret, from, sizeof(*ret));
}

void region_layout_slot(const struct region_layout *layout, const void *from, struct shared_slot *ret)
{
	if (layout->translate_slot)
		layout->translate_slot(from, ret);
	else
		memcpy(ret, from, sizeof(*ret));
}

const struct region_layout *region_layout_find(uint32_t abi_version)
{
	if (abi_version == HS_ABI_VERSION)
		return &region_layout_own;
	for (size_t i = 0; i < sizeof(frozen) / sizeof(*frozen); i++)
		if (frozen[i]->abi_version == abi_version)
			return frozen[i];
	return NULL;
}
