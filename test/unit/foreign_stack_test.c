// SPDX-License-Identifier: Apache-2.0
// A hook that runs on a stack that is not the thread's own: below it, above it, or where the thread's is not known.
// Nothing of it is read but the return address: right behind the frame is no access, and the frame pointer leads there.
#include "check.h"
#include "payload_region.h"

#include "inject/hook/thread_slot.h"
#include "inject/walk/unwind.h"

#define PAGE ((uint64_t)HS_PAGE_SIZE)

static struct made_region made;

static const struct {
	const char *what;
	int64_t low, high; // of the thread's own stack, pages from the frame's; 0, 0 = not known
} cases[] = {
	{ "above the own stack", -8, -4 },     { "right above the own stack", -4, 0 }, { "below the own stack", 4, 8 },
	{ "right below the own stack", 1, 5 }, { "own stack not known", 0, 0 },
};

int main(void)
{
	uint8_t *pages = mmap(NULL, 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct entry_frame *entry;
	struct thread_slot *slot;
	uint32_t nodes[sizeof(cases) / sizeof(cases[0])];

	if (pages == MAP_FAILED || mprotect(pages, PAGE, PROT_READ | PROT_WRITE) != 0)
		return 1;
	payload_region_init(&made, 100);
	slot = thread_slot_claim(arch_thread_pointer());
	if (!slot)
		return 1;
	slot->shared.interval = 1;
	entry = (struct entry_frame *)(pages + PAGE) - 1; // its return address is the last word
	*entry = (struct entry_frame){ .return_address = 0x5000, .fp = (uint64_t)(pages + PAGE) };
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t cuts = slot->shared.cut_counters[CUT_foreign_stack];

		slot->shared.stack_low =
			cases[i].high || cases[i].low ? (uint64_t)pages + (uint64_t)cases[i].low * PAGE : 0;
		slot->shared.stack_high =
			cases[i].high || cases[i].low ? (uint64_t)pages + (uint64_t)cases[i].high * PAGE : 0;
		nodes[i] = unwind_to_node(slot, entry);
		if (slot->shared.cut_counters[CUT_foreign_stack] != cuts + 1)
			fprintf(stderr, "%s:\n", cases[i].what);
		CHECK_EQUAL(slot->shared.cut_counters[CUT_foreign_stack], cuts + 1);
		CHECK(nodes[i] == nodes[0]);
		CHECK_EQUAL(slot->walk_count, 0);
	}
	payload_region_deinit(&made);
	return CHECK_RESULT();
}
