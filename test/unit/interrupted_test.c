// SPDX-License-Identifier: Apache-2.0
// What may come between any two instructions of the payload, in all these places: the tool changes the settings, a dump
// begins, other threads take what was there, a signal handler leaves with longjmp.
#include "check.h"
#include "interrupted_call.h"
#include "payload_region.h"

#include "inject/hook/block_events.h"
#include "inject/hook/reentry.h"
#include "inject/sampling/downsampling.h"
#include "inject/sampling/sampling.h"
#include "inject/sampling/sampling_credit.h"
#include "inject/table/live_table.h"
#include "inject/table/record.h"
#include "inject/table/stack_table.h"

enum { INTERVAL = 4096, SMALL = 16, FEWEST = 20 }; // FEWEST: instructions that a call has at least

static struct made_region made;
static struct thread_slot *slot;

static struct sampling_credit *own_credit(void)
{
	return &payload_region_state.credits[sampling_credit_index(arch_thread_pointer())];
}

static void begin(const struct sampling_settings *settings)
{
	payload_region_init(&made, 100);
	sampling_settings_begin(made.header, settings, 1, 2000);
	slot = thread_slot_claim(arch_thread_pointer());
	if (!slot)
		exit(1);
}

// The state that nearly all calls change, so that each begins with the same.
static struct {
	struct region_header header;
	struct thread_slot slot;
	struct sampling_credit pass;
} kept;

static void keep_state(void)
{
	kept.header = *made.header;
	memcpy(&kept.slot, slot, offsetof(struct thread_slot, walk));
	kept.pass = *own_credit();
}

static void restore_state(void)
{
	*made.header = kept.header;
	memcpy(slot, &kept.slot, offsetof(struct thread_slot, walk));
	*own_credit() = kept.pass;
}

static void take_credit(void) { *own_credit() = (struct sampling_credit){ 0 }; }

static bool ends_before_the_last; // the tool, killed

// As the tool does it while the threads stand.
static void change_settings(void)
{
	made.header->sampling_mode = SAMPLING_exact;
	slot->shared.interval = 0;
	take_credit();
	if (!ends_before_the_last)
		made.header->sampling_generation++;
}

// Whether the thread's next call may go by without the C code.
static bool passes_unseen(void)
{
	return own_credit()->thread_pointer == arch_thread_pointer() && own_credit()->countdown > 0;
}

static uint64_t bytes_drawn;
static struct choice choice;

static void draw(void) { choice = sampling_draw(slot, bytes_drawn); }

// Wherever in a call the settings change, none of the thread's next ones passes unseen, and the first one is recorded
// by the new settings.
static void test_settings_change(void)
{
	static const struct {
		struct sampling_settings settings;
		uint64_t bytes;
		bool has_begun; // the thread has a gap
		bool is_at_end; // which ends with this call
	} cases[] = {
		{ { .mode = SAMPLING_interval, .interval = INTERVAL }, SMALL, true, false },
		{ { .mode = SAMPLING_interval, .interval = INTERVAL }, SMALL, true, true },
		{ { .mode = SAMPLING_interval, .interval = INTERVAL }, 2 * INTERVAL, true, false },
		{ { .mode = SAMPLING_stopped }, SMALL, false, false },
		{ { .mode = SAMPLING_stopped }, SMALL, true, false },
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsigned instruction = 0, hidden = 0, unrecorded = 0;

		begin(&cases[i].settings);
		bytes_drawn = 1;
		if (cases[i].has_begun)
			draw();
		if (cases[i].is_at_end) {
			*credit_countdown(slot) = 1;
			slot->gap_rest = 0;
		}
		keep_state();
		bytes_drawn = cases[i].bytes;
		while (interrupted_call_run(draw, instruction, change_settings)) {
			// Where the change is not complete, a thread that was just reading the settings may have the
			// old ones.
			if (!ends_before_the_last || slot->shared.interval == 0) {
				hidden += passes_unseen();
				draw();
				unrecorded += choice.interval != 1;
				hidden += passes_unseen();
			}
			instruction += ends_before_the_last;
			ends_before_the_last = !ends_before_the_last;
			restore_state();
		}
		CHECK_EQUAL(hidden, 0);
		CHECK_EQUAL(unrecorded, 0);
		CHECK(instruction > FEWEST);
		payload_region_deinit(&made);
	}
}

static const struct sampling_settings exact = { .mode = SAMPLING_exact };
static uint32_t parent;

static void find_node(void) { stack_table_node(slot, parent, made_frame(0x500, 1)); }

static void count_node(uint32_t ref, const struct stack_node *node, void *context)
{
	(void)ref;
	(void)node;
	++*(unsigned *)context;
}

// A longjmp out of the stack table, at any of its instructions: no node is in two places, and none is found that was
// not made.
static void test_node_abandoned(void)
{
	enum { MANY = 150 }; // further nodes of one frame, in pages of their own
	unsigned instruction = 0, wrong = 0;
	bool has_come = true;

	for (; has_come; instruction++) {
		static uint32_t nodes[MANY];
		struct table_view view;
		unsigned count = 0;
		uint32_t node;

		begin(&exact);
		// on a new page, or on one that is in use
		parent = instruction % 2 ? stack_table_node(slot, 0, made_frame(0x1000, 1)) : 0;
		has_come = interrupted_call_run(find_node, instruction, NULL);
		for (uint32_t i = 0; i < MANY; i++)
			nodes[i] = stack_table_node(slot, parent, made_frame(0x2000 + i, 1));
		node = stack_table_node(slot, parent, made_frame(0x500, 1));
		wrong += ((const struct stack_node *)made_ref(&made, node))->frame != made_frame(0x500, 1);
		for (uint32_t i = 0; i < MANY; i++) {
			const struct stack_node *other = made_ref(&made, nodes[i]);

			wrong += nodes[i] == node || nodes[i] == parent || (i && nodes[i] == nodes[i - 1]) ||
				 other->frame != made_frame(0x2000 + i, 1) || other->parent != parent ||
				 stack_table_node(slot, parent, other->frame) != nodes[i];
		}
		view = made_view(&made);
		table_visit_nodes(&view, count_node, &count);
		wrong += view.damaged != 0 || count != MANY + 1 + (parent != 0);
		payload_region_deinit(&made);
	}
	CHECK_EQUAL(wrong, 0);
	CHECK(instruction > FEWEST);
}

#define HEAP UINT64_C(0x7f0000000000)
enum { RECORDS = 64 };

// Of the records that are to be downsampled, how many are as they were.
static unsigned count_unchanged(void)
{
	unsigned count = 0;

	for (uint64_t i = 0; i < RECORDS; i++) {
		uint32_t ref = *live_table_find_narrow(HEAP + 16 * i);

		count += ref && ((const struct block_record *)made_ref(&made, ref))->interval == INTERVAL;
	}
	return count;
}

static unsigned unchanged_before;

static void downsample(void) { downsampling_work(slot); }

static void begin_dump(void)
{
	made.header->removal_flags |= REMOVAL_LOGS;
	unchanged_before = count_unchanged();
}

// A dump that begins in the middle of a step of the downsampling: the record at hand may change, the next ones stay.
static void test_dump_begins(void)
{
	enum { POINTS = 40, APART = 61 }; // instructions; some records are reached
	const struct sampling_settings settings = { .mode = SAMPLING_interval, .interval = INTERVAL };
	unsigned fewest = RECORDS;

	for (unsigned point = 0; point < POINTS; point++) {
		begin(&settings);
		slot->random = 1;
		for (uint64_t i = 0; i < RECORDS; i++) {
			uint32_t ref = record_take(slot);

			*(struct block_record *)made_ref(&made, ref) =
				(struct block_record){ .size = 8, .interval = INTERVAL, .epoch = 1 };
			*live_table_make_narrow(HEAP + 16 * i, &slot->spare_page) = ref;
		}
		downsampling_ask();
		made.header->downsampling_position = 1 + DOWNSAMPLING_SAMPLE_PARTS + (HEAP >> 29 << HS_MIDDLE_BITS);
		CHECK(interrupted_call_run(downsample, point * APART, begin_dump));
		CHECK(count_unchanged() + 1 >= unchanged_before);
		fewest = unchanged_before < fewest ? unchanged_before : fewest;
		payload_region_deinit(&made);
	}
	CHECK(fewest < RECORDS - 1);
}

static uint32_t *entry, taken, others;
static bool is_replaced;

static void take(void) { taken = live_table_take_narrow(entry); }

// Another thread's downsampling puts a copy of the record in its place, and gives the old one back.
static void replace_record(void)
{
	uint32_t before = 1000;

	is_replaced = __atomic_compare_exchange_n(entry, &before, 2000, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

// Who releases a block gives back the record that it has taken out, and no other one.
static void test_release_while_downsampled(void)
{
	unsigned instruction = 0, wrong = 0, replaced = 0;
	bool has_come = true;

	begin(&exact);
	made.header->removals_exchange = 1;
	entry = live_table_make_narrow(HEAP, &slot->spare_page);
	for (; has_come; instruction++) {
		*entry = 1000;
		is_replaced = false;
		has_come = interrupted_call_run(take, instruction, replace_record);
		wrong += *entry != 0 || taken != (is_replaced ? 2000 : 1000);
		replaced += is_replaced;
	}
	CHECK_EQUAL(wrong, 0);
	CHECK(replaced > 0 && replaced < instruction);
	payload_region_deinit(&made);
}

enum { OLD_SIZE = 3000, NEW_SIZE = 3500 }; // so large that the seed below keeps both

static void write_record(uint64_t size)
{
	*(struct block_record *)made_ref(&made, *entry) =
		(struct block_record){ .size_and_hook = size, .interval = INTERVAL, .epoch = 1 };
}

// The block is released, and the next one at its address has the same record.
static void come_again(void) { write_record(NEW_SIZE); }

// A record that downsampling is about to replace is given back meanwhile, and serves another block: that one keeps its
// own content.
static void test_record_serves_again(void)
{
	enum { INSTRUCTIONS = 600, APART = 5 };
	const struct sampling_settings settings = { .mode = SAMPLING_interval, .interval = INTERVAL };
	unsigned wrong = 0, downsampled = 0;

	begin(&settings);
	slot->random = 1;
	entry = live_table_make_narrow(HEAP, &slot->spare_page);
	*entry = record_take(slot);
	taken = *entry;
	downsampling_ask();
	made.header->downsampling_position = 1 + DOWNSAMPLING_SAMPLE_PARTS + (HEAP >> 29 << HS_MIDDLE_BITS);
	keep_state();
	for (unsigned instruction = 0; instruction < INSTRUCTIONS; instruction += APART) {
		*entry = taken;
		write_record(OLD_SIZE);
		wrong += !interrupted_call_run(downsample, instruction, come_again);
		wrong += !*entry || ((const struct block_record *)made_ref(&made, *entry))->size != NEW_SIZE;
		downsampled += *entry != taken;
		restore_state();
	}
	CHECK_EQUAL(wrong, 0);
	CHECK(downsampled > 0);
	payload_region_deinit(&made);
}

static uint32_t *made_entry;

static void make_leaf(void) { made_entry = live_table_make_narrow(HEAP, &slot->spare_page); }

static void make_leaf_too(void) { CHECK(live_table_make_narrow(HEAP, &others) != NULL); }

// Another thread makes the same tables. A page that was taken and not needed becomes one other leaf, and not a second
// one.
static void test_spare_page(void)
{
	unsigned instruction = 0, wrong = 0, spares = 0;
	bool has_come = true;

	for (; has_come; instruction++) {
		uint32_t *next, *last, spare;

		begin(&exact);
		others = 0;
		if (instruction % 2)
			// the middle table is there
			live_table_make_narrow(HEAP + (UINT64_C(1) << 20), &slot->spare_page);
		has_come = interrupted_call_run(make_leaf, instruction / 2, make_leaf_too);
		spare = slot->spare_page;
		spares += spare != 0;
		wrong += made_entry != live_table_find_narrow(HEAP);
		next = live_table_make_narrow(HEAP + (UINT64_C(2) << 20), &slot->spare_page);
		last = live_table_make_narrow(HEAP + (UINT64_C(3) << 20), &slot->spare_page);
		wrong += slot->spare_page != 0 || (spare && next != (uint32_t *)made_table(&made, spare)) ||
			 next == last || next == made_entry || last == made_entry;
		payload_region_deinit(&made);
	}
	CHECK_EQUAL(wrong, 0);
	CHECK(spares > 0 && spares < instruction);
}

#define BUCKET 5u

// The `number`th address of the bucket.
static uint64_t address_in(uint32_t number) { return sample_address(BUCKET, sample_entry(0x9000 * number, 1)); }

static uint64_t *last_of_bucket(void)
{
	return (uint64_t *)(made.bytes + HS_OFFSET_SAMPLES) + (BUCKET + 1) * HS_SAMPLE_BUCKET_ENTRIES - 1;
}

static void allocate(void)
{
	static const struct hook_island island;
	static const struct entry_frame frame = { .return_address = 0x1000 };

	if (reentry_enter(slot, (uint64_t)&frame, &island) != OUTERMOST)
		abort();
	record_allocation(slot, address_in(100), SMALL, (struct choice){ INTERVAL, 0 }, &frame);
	reentry_leave(slot);
}

static void take_last_of_bucket(void)
{
	if (!*last_of_bucket())
		*last_of_bucket() = sample_entry(0x9000 * 15, 77);
}

// Other threads' samples take the room that a sample has just found, and the region is full: it is counted as lost, and
// its record serves again.
static void test_room_is_taken(void)
{
	const struct sampling_settings settings = { .mode = SAMPLING_interval, .interval = INTERVAL };
	unsigned instruction = 0, wrong = 0, lost = 0;
	uint32_t free_count;
	bool has_come = true;

	begin(&settings);
	allocate(); // its stack is known then
	made.header->samples_used = 1;
	for (uint32_t i = 0; i < HS_SAMPLE_BUCKET_ENTRIES - 1; i++)
		last_of_bucket()[-(int)i - 1] = sample_entry(0x9000 * i, 77);
	made.header->next_page = made.header->max_pages;
	free_count = slot->free_count;
	keep_state();
	for (; has_come; instruction += 7) { // the time between is long
		uint32_t in_bloom = 0;
		bool is_shown;

		*last_of_bucket() = 0;
		memset(payload_region_state.bloom, 0, HS_BLOOM_SIZE);
		has_come = interrupted_call_run(allocate, instruction, take_last_of_bucket);
		is_shown = sample_table_find(address_in(100)) != NULL;
		for (unsigned i = 0; i < HS_BLOOM_SIZE; i++)
			in_bloom += payload_region_state.bloom[i];
		wrong += slot->shared.counters[COUNTER_lost_region_full] != !is_shown ||
			 slot->shared.counters[COUNTER_lost_region_full_bytes] != (is_shown ? 0 : SMALL) ||
			 slot->free_count != free_count - is_shown || in_bloom != is_shown;
		lost += !is_shown;
		restore_state();
	}
	CHECK_EQUAL(wrong, 0);
	CHECK(lost > 0 && lost < instruction);
	payload_region_deinit(&made);
}

static struct thread_slot *other;

// Whoever has no record takes a batch. Returns its first.
static uint32_t take_batch(struct thread_slot *taker)
{
	taker->free_count = 0;
	taker->fresh_record = 0;
	return record_refill(taker);
}

static void take_own_batch(void) { taken = take_batch(slot); }

static void give_batch(uint32_t first)
{
	other->free_count = HS_FREE_KEPT;
	for (uint32_t i = 0; i < HS_FREE_KEPT; i++)
		other->free_records[i] = first + i;
	record_share_batch(other);
}

static uint32_t firsts[4];
static bool has_come_back;

// The first batch of the list goes and comes back, while the second one has gone. If the interrupted thread has the
// first one already, the second one goes alone.
static void exchange_batches(void)
{
	has_come_back = take_batch(other) == firsts[0];
	if (!has_come_back)
		return;
	take_batch(other);
	give_batch(firsts[0]);
	give_batch(firsts[3]);
	take_batch(other);
}

// A batch that a thread is about to take is taken by others and comes back: what it has read of it is of no use, or a
// batch is handed out twice.
static void test_batch_comes_back(void)
{
	enum { INSTRUCTIONS = 60 }; // until it has the batch, and beyond
	unsigned came_back = 0;

	for (unsigned instruction = 0; instruction < INSTRUCTIONS; instruction++) {
		begin(&exact);
		other = (struct thread_slot *)made_slot(
			&made, 1 + (slot - (struct thread_slot *)(made.bytes + HS_OFFSET_SLOTS) == 1));
		for (unsigned i = 3; i-- > 0;) {
			firsts[i] = page_first_ref(made_pages(&made, 1));
			give_batch(firsts[i]);
		}
		firsts[3] = page_first_ref(made_pages(&made, 1));
		give_batch(firsts[3]);
		CHECK_EQUAL(take_batch(other), firsts[3]); // the list: 0, 1, 2
		CHECK(interrupted_call_run(take_own_batch, instruction, exchange_batches));
		CHECK_EQUAL(taken, firsts[0]);
		CHECK_EQUAL((uint32_t)made.header->free_batches, firsts[2]);
		came_back += has_come_back;
		payload_region_deinit(&made);
	}
	CHECK(came_back > 0 && came_back < INSTRUCTIONS);
}

int main(void)
{
	test_batch_comes_back();
	test_release_while_downsampled();
	test_record_serves_again();
	test_spare_page();
	test_room_is_taken();
	test_dump_begins();
	test_settings_change();
	test_node_abandoned();
	return CHECK_RESULT();
}
