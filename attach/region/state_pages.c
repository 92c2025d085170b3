// SPDX-License-Identifier: Apache-2.0
#include "attach/region/state_pages.h"

#include "attach/guard/interrupt.h"
#include "attach/ptrace/memory_write.h"

#include <string.h>

#define PLACE(field) offsetof(struct payload_state, field)

bool state_pages_are_at(const struct proc_maps *maps, uint64_t address, uint64_t size)
{
	const struct proc_map *map = proc_maps_find(maps, address);

	return map && map->start == address && map->end - map->start == size && map->writable && !map->shared &&
	       map->inode == 0 && !map->name[0];
}

struct hs_error *state_pages_activate(const struct target_memory *memory, uint64_t state, pid_t stopped_tid)
{
	static const uint32_t active_and_present[2] = { 1, 1 };

	_Static_assert(PLACE(active) == 0 && PLACE(present) == sizeof(uint32_t), "the two are written at once");
	return target_memory_write(memory, state, active_and_present, sizeof(active_and_present), stopped_tid);
}

struct hs_error *state_pages_deactivate(const struct target_memory *memory, uint64_t state, pid_t stopped_tid)
{
	const uint32_t none = 0;

	return target_memory_write(memory, state + PLACE(active), &none, sizeof(none), stopped_tid);
}

struct hs_error *state_pages_write_bloom(const struct target_memory *memory, uint64_t state, const uint8_t *counters,
					 pid_t stopped_tid)
{
	fault_request();
	return target_memory_write(memory, state + PLACE(bloom), counters, HS_BLOOM_SIZE, stopped_tid);
}

struct hs_error *state_pages_saturate_bloom(const struct target_memory *memory, uint64_t state, pid_t stopped_tid)
{
	uint8_t saturated[HS_BLOOM_SIZE];

	memset(saturated, HS_BLOOM_SATURATED, sizeof(saturated));
	return state_pages_write_bloom(memory, state, saturated, stopped_tid);
}

struct hs_error *state_pages_take_credits(const struct target_memory *memory, uint64_t state, pid_t stopped_tid)
{
	static const struct sampling_credit none[HS_PAGE_SIZE / sizeof(struct sampling_credit)];
	struct hs_error *error = NULL;

	// A page at a time, and only where something is: pages that were never used are not to become the target's
	// memory.
	for (uint64_t offset = 0; offset < sizeof(((struct payload_state *)0)->credits) && !error;
	     offset += sizeof(none)) {
		struct sampling_credit credits[HS_PAGE_SIZE / sizeof(struct sampling_credit)];
		uint64_t address = state + PLACE(credits) + offset;

		error = target_memory_read(memory, address, credits, sizeof(credits));
		if (error || memcmp(credits, none, sizeof(none)) == 0)
			continue;
		fault_request();
		error = target_memory_write(memory, address, none, sizeof(none), stopped_tid);
	}
	return error;
}
