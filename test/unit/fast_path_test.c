// SPDX-License-Identifier: Apache-2.0
// The fast paths (inject/hook/fast_path.h) leave byte for byte what the slow paths leave, and nothing where anything
// is not as usual. Kept stacks name the same nodes as walks that begin with nothing.
#include "check.h"
#include "payload_region.h"

#include "inject/hook/fast_path.h"
#include "inject/hook/thread_slot.h"
#include "inject/table/stack_table.h"

enum { PAGES = 200, WORDS = 600 };

static struct made_region made;
static struct thread_slot *slot;
static const struct choice exact = { 1, 0 };
static const uint64_t block = 0x7f1234560; // neither the first nor the last of its piece
static uint64_t block_size;
static const struct hook_island island = { .hook_index = 3 };

// A stack of frames without unwind information, chained by fp: the entry of a hook, and what lies above it.
static struct {
	struct entry_frame entry;
	uint64_t words[WORDS];
} stack, stack_before;

// Frames of `size` words each, the outermost one with fp 0.
static void make_stack(unsigned frames, unsigned size)
{
	uint64_t *fp = stack.words + size - 2;

	stack.entry = (struct entry_frame){ .return_address = 0x5000, .fp = (uint64_t)fp };
	for (unsigned i = 1; i < frames; i++, fp += size) {
		fp[0] = i + 1 < frames ? (uint64_t)(fp + size) : 0;
		fp[1] = 0x5000 + i;
	}
}

static void begin(void)
{
	payload_region_init(&made, PAGES);
	while (!(slot = thread_slot_claim(arch_thread_pointer())))
		continue;
	slot->shared.interval = 1;
	slot->shared.stack_low = (uint64_t)&stack;
	slot->shared.stack_high = (uint64_t)(&stack + 1);
}

// All that the ways below may change.
struct content {
	struct region_header header;
	struct thread_slot slot;
	uint8_t pages[PAGES * HS_PAGE_SIZE];
};

static void save(struct content *content)
{
	content->header = *made.header;
	content->slot = *slot;
	memcpy(content->pages, made.bytes + HS_OFFSET_PAGES, sizeof(content->pages));
}

static void restore(const struct content *content)
{
	*made.header = content->header;
	*slot = content->slot;
	memcpy(made.bytes + HS_OFFSET_PAGES, content->pages, sizeof(content->pages));
	stack = stack_before;
}

static bool is_as(const struct content *content)
{
	return memcmp(made.header, &content->header, sizeof(content->header)) == 0 &&
	       memcmp(slot, &content->slot, sizeof(content->slot)) == 0 &&
	       memcmp(made.bytes + HS_OFFSET_PAGES, content->pages, sizeof(content->pages)) == 0;
}

static struct content before, after;

static uint64_t call_return_slot(void) { return (uint64_t)&stack.entry.return_address; }

static void no_free_record(void) { slot->free_count = 0; }
static void ticks_are_due(void) { slot->ticks_left = 0; }
static void bloom_is_used(void) { made.header->removal_flags = REMOVAL_COUNTS_BLOOM; }
static void dump_copies(void) { made.header->removal_flags = REMOVAL_LOGS; }
static void there_are_samples(void) { made.header->samples_used = 1; }
static void releases_exchange(void) { made.header->removals_exchange = 1; }
static bool is_wide(void) { return block_size > 48; }
static uint32_t *place(void) { return is_wide() ? made_wide_entry(&made, block) : made_narrow_entry(&made, block); }
static void place_is_taken(void) { *place() = 77; }
static void place_is_empty(void) { *place() = 0; }
static void other_part_shows_it(void) { *made_wide_entry(&made, block) = 2u << 30 | 77; }
static void ref_has_31_bits(void) { slot->free_records[slot->free_count - 1] |= 1u << 30; }
static void modules_changed(void) { made.header->module_generation++; }
static void was_taken_for_left(void) { slot->shared.guard = 0; }
static void is_guarded(void) { slot->shared.guard = call_return_slot(); }
static void other_thread(void) { slot->mark++; }
static void no_slot_there(void) { slot->shared.thread_pointer++; }
static void samples(void) { slot->shared.interval = 2; }
static void settings_changed(void) { slot->shared.interval = 0; }

static void totals_of_others(void)
{
	for (unsigned i = 0; i < HS_TOTALS_ENTRIES; i++)
		slot->shared.totals[i].stack = 0;
}

static void totals_are_full(void)
{
	for (unsigned i = 0; i < HS_TOTALS_ENTRIES; i++)
		slot->shared.totals[i].objects = UINT32_MAX;
}

static void temporaries_are_full(void)
{
	for (unsigned i = 0; i < HS_TOTALS_ENTRIES; i++)
		slot->shared.temporaries[i] = UINT16_MAX;
}

static struct block_record *last_record(void) { return made_ref(&made, slot->last_record); }

static uint64_t temporaries(void)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < HS_TOTALS_ENTRIES; i++)
		sum += slot->shared.temporaries[i];
	return sum;
}

// Of the stack of the last walk.
static uint64_t moved_temporaries(void)
{
	const uint64_t frame = (uint64_t)HS_FRAME_TEMPORARY << HS_FRAME_MODULE_SHIFT;
	const struct stack_node *node = made_ref(
		&made, stack_table_node(slot, ((struct block_record *)made_ref(&made, before.slot.last_record))->stack,
					frame));

	return node->alloc_objects >> HS_OBJECTS_SHIFT;
}

static void free_list_is_full(void) { slot->free_count = HS_FREE_KEPT; }

// Changes one thing; then nothing is done.
#define CHECK_REFUSES(spoil, call)                                                                                     \
	do {                                                                                                           \
		restore(&before);                                                                                      \
		spoil;                                                                                                 \
		save(&after);                                                                                          \
		if (call) {                                                                                            \
			fprintf(stderr, "%s: %s all the same\n", #spoil, #call);                                       \
			check_failures++;                                                                              \
		}                                                                                                      \
		CHECK(is_as(&after));                                                                                  \
	} while (0)

#define USUAL_RECORDING(address) fast_path_record(slot, address, block_size, &stack.entry)

static void test_recording(uint64_t asked)
{
	block_size = asked;
	begin();
	make_stack(4, 6);
	stack_before = stack;
	record_allocation(slot, block, block_size, exact, &stack.entry);
	slot->hook = island.hook_index;
	block_goes(block, 0, &island, call_return_slot());
	slot->shared.guard = call_return_slot();
	save(&before);

	CHECK(USUAL_RECORDING(block));
	CHECK(*place() != 0 && *place() >> 30 == (is_wide() ? 2 : 0));
	CHECK_EQUAL(slot->shared.counters[COUNTER_walk_reuses], before.slot.shared.counters[COUNTER_walk_reuses] + 1);
	save(&after);
	restore(&before);
	record_allocation(slot, block, block_size, exact, &stack.entry);
	CHECK(is_as(&after));

	CHECK_REFUSES(no_free_record(), USUAL_RECORDING(block));
	CHECK_REFUSES(was_taken_for_left(), USUAL_RECORDING(block));
	CHECK_REFUSES(ticks_are_due(), USUAL_RECORDING(block));
	CHECK_REFUSES(releases_exchange(), USUAL_RECORDING(block));
	CHECK_REFUSES(there_are_samples(), USUAL_RECORDING(block));
	CHECK_REFUSES(place_is_taken(), USUAL_RECORDING(block));
	if (is_wide())
		CHECK_REFUSES(ref_has_31_bits(), USUAL_RECORDING(block));
	else
		// and lets it pass again, with its tables there
		CHECK_REFUSES(other_part_shows_it(), USUAL_RECORDING(block));
	restore(&before);
	CHECK(USUAL_RECORDING(block));
	CHECK_REFUSES(totals_of_others(), USUAL_RECORDING(block));
	CHECK_REFUSES(totals_are_full(), USUAL_RECORDING(block));
	CHECK_REFUSES(modules_changed(), USUAL_RECORDING(block));
	CHECK_REFUSES((void)0, USUAL_RECORDING(0));
	CHECK_REFUSES((void)0, USUAL_RECORDING(block + 8));
	CHECK_REFUSES((void)0, USUAL_RECORDING(block + (UINT64_C(1) << 20))); // no leaf
	CHECK_REFUSES((void)0, USUAL_RECORDING(block + (UINT64_C(1) << 40))); // no middle table
	CHECK_REFUSES((void)0, USUAL_RECORDING(block + (UINT64_C(1) << 47)));
	CHECK_REFUSES(stack.entry.return_address++, USUAL_RECORDING(block));
	CHECK_REFUSES(stack.entry.fp += 48, USUAL_RECORDING(block));
	for (unsigned i = 1; i < 4; i++) {
		CHECK_REFUSES(stack.words[6 * i - 1]++, USUAL_RECORDING(block));    // a return address
		CHECK_REFUSES(stack.words[6 * i - 2] ^= 8, USUAL_RECORDING(block)); // a saved fp
	}
	CHECK_REFUSES((void)made_narrow_entry(&made, 0), USUAL_RECORDING(0)); // which has a leaf
	payload_region_deinit(&made);
}

#define USUAL_RELEASE(address) fast_path_release(address, call_return_slot(), &island)

static void test_release(uint64_t asked)
{
	block_size = asked;
	begin();
	make_stack(4, 6);
	stack_before = stack;
	record_allocation(slot, block, block_size, exact, &stack.entry);
	slot->hook = island.hook_index;
	save(&before);

	CHECK(USUAL_RELEASE(block));
	CHECK_EQUAL(*place(), 0);
	CHECK_EQUAL(slot->shared.guard, 0);
	save(&after);
	restore(&before);
	block_goes(block, 0, &island, call_return_slot());
	slot->releases = after.slot.releases; // only counted for the budget
	CHECK(is_as(&after));

	CHECK_EQUAL(temporaries(), 1);
	CHECK_EQUAL(slot->last_record, 0);
	CHECK_REFUSES(totals_of_others(), USUAL_RELEASE(block));
	CHECK_REFUSES(temporaries_are_full(), USUAL_RELEASE(block));
	CHECK_REFUSES(last_record()->interval = 2, USUAL_RELEASE(block));
	CHECK_REFUSES(slot->thread++, USUAL_RELEASE(block)); // another thread's
	restore(&before);
	temporaries_are_full();
	block_goes(block, 0, &island, call_return_slot());
	CHECK_EQUAL(temporaries(), (HS_TOTALS_ENTRIES - 1) * UINT64_C(65535));
	CHECK_EQUAL(moved_temporaries(), 65536);
	restore(&before);
	slot->last_record++; // of another block, made since
	CHECK(USUAL_RELEASE(block));
	CHECK_EQUAL(temporaries(), 0);

	CHECK_REFUSES(place_is_empty(), USUAL_RELEASE(block));
	if (is_wide())
		CHECK_REFUSES(*place() ^= 1u << 30, USUAL_RELEASE(block)); // it names another block of the piece
	CHECK_REFUSES(free_list_is_full(), USUAL_RELEASE(block));
	CHECK_REFUSES(dump_copies(), USUAL_RELEASE(block));
	CHECK_REFUSES(bloom_is_used(), USUAL_RELEASE(block));
	CHECK_REFUSES(releases_exchange(), USUAL_RELEASE(block));
	CHECK_REFUSES(is_guarded(), USUAL_RELEASE(block));
	// the control block's thread before: a handler would claim the slot meanwhile
	CHECK_REFUSES(other_thread(), USUAL_RELEASE(block));
	CHECK_REFUSES(no_slot_there(), USUAL_RELEASE(block));
	CHECK_REFUSES((void)0, USUAL_RELEASE(0));
	CHECK_REFUSES((void)0, USUAL_RELEASE(block + 8));
	CHECK_REFUSES((void)0, USUAL_RELEASE(block + (UINT64_C(1) << 20)));
	CHECK_REFUSES((void)0, USUAL_RELEASE(block + (UINT64_C(1) << 40)));
	CHECK_REFUSES((void)0, USUAL_RELEASE(block + (UINT64_C(1) << 47)));
	payload_region_deinit(&made);
}

#define USUAL_ENTER() fast_path_enter_original(&stack.entry, &island)

static void test_enter(void)
{
	begin();
	save(&before);
	CHECK(USUAL_ENTER() == slot);
	CHECK(slot->shared.guard == call_return_slot() && slot->shared.in_original == 1 &&
	      slot->hook == island.hook_index);
	save(&after);
	restore(&before);
	CHECK(reentry_begin(&stack.entry, &island) == slot);
	reentry_enter_original(slot);
	CHECK(is_as(&after));

	restore(&after);
	CHECK(fast_path_leave_original(slot));
	CHECK_EQUAL(slot->shared.in_original, 0);
	restore(&after);
	payload_region_state.present = 0;
	CHECK(!fast_path_leave_original(slot));
	payload_region_state.present = 1;
	CHECK(is_as(&after));

	CHECK_REFUSES(is_guarded(), USUAL_ENTER());
	CHECK_REFUSES(samples(), USUAL_ENTER());
	CHECK_REFUSES(settings_changed(), USUAL_ENTER());
	CHECK_REFUSES(other_thread(), USUAL_ENTER());
	CHECK_REFUSES(no_slot_there(), USUAL_ENTER());
	payload_region_deinit(&made);
}

// What a thread without any earlier walk finds.
static uint32_t walk_anew(void)
{
	static struct thread_slot other;
	uint32_t node;

	other = *slot;
	other.walk_count = other.kept_generation = 0;
	node = unwind_to_node(&other, &stack.entry);
	slot->fresh_node = other.fresh_node; // should it have made any
	return node;
}

// Calls from everywhere, their stacks like each other, most of them seen before: `frames` at most.
static void test_kept(unsigned frames, unsigned rounds, unsigned kept_least, unsigned kept_most)
{
	unsigned kept = 0;
	uint32_t dice = 1, node;

	begin();
	for (unsigned round = 0; round < rounds; round++) {
		dice = dice * 1103515245 + 12345;
		make_stack(frames - (dice >> 8) % 3, 6);
		if ((dice >> 12) % 4 == 0)
			stack.entry.return_address += dice >> 14 & 63; // more than are kept
		if ((dice >> 16) % 16 == 0)
			stack.words[6 * ((dice >> 20) % (frames - 3)) + 5] += 0x1000; // a return address somewhere
		if ((dice >> 16) % 16 == 1)
			stack.entry.fp += 48; // a frame less
		kept += unwind_kept(slot, &stack.entry) != NULL;
		node = unwind_to_node(slot, &stack.entry);
		CHECK_EQUAL(walk_anew(), node);
	}
	CHECK(kept >= kept_least && kept <= kept_most);
	payload_region_deinit(&made);
}

// What was kept with other modules, or other settings, or of a thread that has ended, is void.
static void test_void(void)
{
	begin();
	make_stack(4, 6);
	unwind_to_node(slot, &stack.entry);
	CHECK(unwind_kept(slot, &stack.entry));
	made.header->module_generation++;
	CHECK(!unwind_kept(slot, &stack.entry));
	stack.entry.return_address++;
	unwind_to_node(slot, &stack.entry);
	CHECK(unwind_kept(slot, &stack.entry));
	stack.entry.return_address--;
	CHECK(!unwind_kept(slot, &stack.entry));

	unwind_to_node(slot, &stack.entry);
	CHECK(unwind_kept(slot, &stack.entry));
	slot->shared.interval = 0;
	sampling_choose(slot, 1);
	CHECK_EQUAL(slot->shared.interval, 1);
	CHECK(!unwind_kept(slot, &stack.entry));
	payload_region_deinit(&made);
}

int main(void)
{
	for (uint64_t asked = 48; asked <= 49; asked++) { // narrow, then wide
		test_recording(asked);
		test_release(asked);
	}
	test_enter();
	test_void();
	test_kept(7, 3000, 500, 3000);
	test_kept(20, 3000, 500, 3000);
	test_kept(60, 1000, 0, 0); // more words than are kept of one stack
	return CHECK_RESULT();
}
