// SPDX-License-Identifier: Apache-2.0
// A thread's slot in a made-up region, for tests of inject/hook/reentry.h: the stack is said to be one of the test's
// own. Two functions are hooked.
#ifndef HEAPSNAP_TEST_UNIT_REENTRY_SLOT_H
#define HEAPSNAP_TEST_UNIT_REENTRY_SLOT_H

#include "check.h"

#include "payload_region.h"

#include "inject/hook/reentry.h"

enum { OPERATOR = 3, MALLOC = 5, PASS = 4000 };

static struct made_region made;
static struct hook_island operator_island = { .hook_index = OPERATOR }, malloc_island = { .hook_index = MALLOC };

// The slot of a thread whose stack is [low, high), sampled, with PASS bytes that may go by. End it with
// payload_region_deinit(&made).
static inline struct thread_slot *slot_begin(const void *low, const void *high)
{
	struct thread_slot *slot;

	payload_region_init(&made, 16);
	memset(payload_region_state.hook_trust, 0, sizeof(payload_region_state.hook_trust));
	slot = thread_slot_claim(arch_thread_pointer());
	if (!slot)
		exit(1);
	slot->shared.stack_low = (uint64_t)low;
	slot->shared.stack_high = (uint64_t)high;
	slot->shared.interval = 4096;
	credit_give(slot, PASS);
	return slot;
}

// An operator is called, its return address at `place`, and passes.
static inline bool watch(struct thread_slot *slot, uint64_t *place)
{
	// only its return address is looked at
	const struct entry_frame *frame =
		(const struct entry_frame *)((uint8_t *)place - offsetof(struct entry_frame, return_address));

	*place = 0x1234;
	CHECK_EQUAL(reentry_enter(slot, (uint64_t)place, &operator_island), OUTERMOST);
	return reentry_watch(slot, frame);
}

static inline uint8_t trust(void) { return payload_region_state.hook_trust[OPERATOR]; }

#endif
