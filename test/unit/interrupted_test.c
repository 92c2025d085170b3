// SPDX-License-Identifier: Apache-2.0
// What may come between any two instructions of the payload, in all these places: the tool changes the settings, it takes a pass, a dump begins, a
// signal handler leaves with longjmp.
#include "check.h"
#include "interrupted_call.h"
#include "payload_region.h"

#include "inject/live_table.h"
#include "inject/pass.h"
#include "inject/record.h"
#include "inject/reentry.h"
#include "inject/sampling.h"
#include "inject/sampling_math.h"
#include "inject/stack_table.h"
#include "inject/thinning.h"

enum { INTERVAL = 4096, SMALL = 16, FEWEST = 20 }; // FEWEST: instructions that a call has at least

static struct made_region made;
static struct thread_slot *slot;

static struct thread_pass *own_pass(void) { return &payload_region_state.passes[thread_pass_index(arch_thread_pointer())]; }

static void begin(const struct sampling_settings *settings)
{
	payload_region_init(&made, 100);
	sampling_settings_begin(made.header, settings, 1, 2000);
	slot = thread_slot_claim(arch_thread_pointer());
	if (!slot)
		exit(1);
}

static void take_pass(void) { *own_pass() = (struct thread_pass){ 0 }; }

static bool ends_before_the_last; // the tool, killed

// As the tool does it while the threads stand.
static void change_settings(void)
{
	made.header->sampling_mode = SAMPLING_exact;
	slot->interval = 0;
	take_pass();
	if (!ends_before_the_last)
		made.header->sampling_generation++;
}

// Whether the thread's next call may go by without the C code.
static bool passes_unseen(void) { return own_pass()->thread_pointer == arch_thread_pointer() && own_pass()->countdown > 0; }

static uint64_t bytes_drawn;
static struct choice choice;

static void draw(void) { choice = sampling_draw(slot, bytes_drawn); }

// Wherever in a call the settings change, none of the thread's next ones passes unseen, and the first one is recorded by the new settings.
static void test_settings_change(void)
{
	static const struct {
		struct sampling_settings settings;
		uint64_t bytes;
		bool has_begun;    // the thread has a gap
		bool is_at_end;    // which ends with this call
	} cases[] = {
		{ { .mode = SAMPLING_interval, .interval = INTERVAL }, SMALL, true, false },
		{ { .mode = SAMPLING_interval, .interval = INTERVAL }, SMALL, true, true },
		{ { .mode = SAMPLING_interval, .interval = INTERVAL }, 2 * INTERVAL, true, false },
		{ { .mode = SAMPLING_stopped }, SMALL, false, false },
		{ { .mode = SAMPLING_stopped }, SMALL, true, false },
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsigned instruction = 0, hidden = 0, unrecorded = 0;
		struct region_header header;
		struct thread_pass pass;
		struct thread_slot before;

		begin(&cases[i].settings);
		bytes_drawn = 1;
		if (cases[i].has_begun)
			draw();
		if (cases[i].is_at_end) {
			*pass_countdown(slot) = 1;
			slot->gap_rest = 0;
		}
		header = *made.header;
		memcpy(&before, slot, offsetof(struct thread_slot, walk));
		pass = *own_pass();
		bytes_drawn = cases[i].bytes;
		while (interrupted_call_run(draw, instruction, change_settings)) {
			// Where the change is not complete, a thread that was just reading the settings may have the old ones.
			if (!ends_before_the_last || slot->interval == 0) {
				hidden += passes_unseen();
				draw();
				unrecorded += choice.interval != 1;
				hidden += passes_unseen();
			}
			instruction += ends_before_the_last;
			ends_before_the_last = !ends_before_the_last;
			*made.header = header;
			memcpy(slot, &before, offsetof(struct thread_slot, walk));
			*own_pass() = pass;
		}
		CHECK_EQUAL(hidden, 0);
		CHECK_EQUAL(unrecorded, 0);
		CHECK(instruction > FEWEST);
		payload_region_deinit(&made);
	}
}

// The tool takes the pass in the middle of a gap: what is left of the gap is known to nobody, so the thread's next call begins a fresh one.
static void test_pass_is_taken(void)
{
	const struct sampling_settings settings = { .mode = SAMPLING_interval, .interval = INTERVAL };

	for (unsigned i = 0; i < 100; i++) {
		uint64_t random;
		int64_t gap, piece;

		begin(&settings);
		bytes_drawn = SMALL;
		slot->random = i + 1;
		draw();
		CHECK_EQUAL(own_pass()->thread_pointer, slot->thread_pointer);
		CHECK_EQUAL(slot->countdown, 0);
		own_pass()->countdown /= 2; // calls have passed
		take_pass();
		random = slot->random;
		gap = sampling_gap(sampling_random(&random), INTERVAL);
		piece = gap < INTERVAL ? gap : INTERVAL;
		draw();
		if (gap > SMALL) {
			CHECK_EQUAL(choice.interval, 0);
			CHECK_EQUAL(own_pass()->countdown, piece - SMALL);
			CHECK_EQUAL(slot->gap_rest, gap - piece);
			CHECK_EQUAL(slot->random, random);
		} else {
			CHECK_EQUAL(choice.interval, INTERVAL);
		}
		payload_region_deinit(&made);
	}
}

// So too while an original runs: the gap goes on, in the slot or in a new pass, for as many bytes as were left.
static void test_pass_is_taken_within_original(void)
{
	const struct sampling_settings settings = { .mode = SAMPLING_interval, .interval = INTERVAL };
	const uint64_t left = 1000;

	begin(&settings);
	bytes_drawn = SMALL;
	draw();
	slot->gap_rest = INTERVAL;
	*pass_countdown(slot) = (int64_t)left;
	reentry_enter_original(slot);
	CHECK_EQUAL(own_pass()->countdown, 0);
	take_pass();
	CHECK(reentry_leave_original(slot));
	CHECK_EQUAL(slot->countdown, left);
	draw();
	CHECK_EQUAL(choice.interval, 0);
	CHECK_EQUAL(own_pass()->countdown, left - SMALL);
	CHECK_EQUAL(slot->gap_rest, INTERVAL);
	CHECK_EQUAL(slot->countdown, 0);
	payload_region_deinit(&made);
}

// Another thread has the entry where this one's pass would be: it counts down in its slot, and nothing goes by unseen.
static void test_pass_of_another(void)
{
	const struct sampling_settings settings = { .mode = SAMPLING_interval, .interval = INTERVAL };
	int64_t before;

	begin(&settings);
	*own_pass() = (struct thread_pass){ .thread_pointer = 0x7000, .countdown = 7, .rest = 8, .interval = 9 };
	bytes_drawn = 1;
	draw();
	draw();
	before = slot->countdown;
	CHECK(before > 0 && pass_countdown(slot) == &slot->countdown);
	draw();
	CHECK_EQUAL(slot->countdown, before - 1);
	CHECK(own_pass()->thread_pointer == 0x7000 && own_pass()->countdown == 7 && own_pass()->rest == 8 && own_pass()->interval == 9);
	pass_return(slot);
	CHECK_EQUAL(own_pass()->thread_pointer, 0x7000);
	payload_region_deinit(&made);
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

// A longjmp out of the stack table, at any of its instructions: no node is in two places, and none is found that was not made.
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
		parent = instruction % 2 ? stack_table_node(slot, 0, made_frame(0x1000, 1)) : 0; // on a new page, or on one that is in use
		has_come = interrupted_call_run(find_node, instruction, NULL);
		for (uint32_t i = 0; i < MANY; i++)
			nodes[i] = stack_table_node(slot, parent, made_frame(0x2000 + i, 1));
		node = stack_table_node(slot, parent, made_frame(0x500, 1));
		wrong += ((const struct stack_node *)made_ref(&made, node))->frame != made_frame(0x500, 1);
		for (uint32_t i = 0; i < MANY; i++) {
			const struct stack_node *other = made_ref(&made, nodes[i]);

			wrong += nodes[i] == node || nodes[i] == parent || (i && nodes[i] == nodes[i - 1]) || other->frame != made_frame(0x2000 + i, 1) ||
				 other->parent != parent || stack_table_node(slot, parent, other->frame) != nodes[i];
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

// Of the records that are to be thinned, how many are as they were.
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

static void thin(void) { thinning_work(slot); }

static void begin_dump(void)
{
	made.header->removal_flags |= REMOVAL_LOGS;
	unchanged_before = count_unchanged();
}

// A dump that begins in the middle of a step of the thinning: the record at hand may change, the next ones stay.
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

			*(struct block_record *)made_ref(&made, ref) = (struct block_record){ .size = 8, .interval = INTERVAL, .epoch = 1 };
			*live_table_make_narrow(HEAP + 16 * i, &slot->spare_page) = ref;
		}
		thinning_ask();
		made.header->thinning_position = 1 + THINNING_SAMPLE_PARTS + (HEAP >> 29 << HS_MIDDLE_BITS);
		CHECK(interrupted_call_run(thin, point * APART, begin_dump));
		CHECK(count_unchanged() + 1 >= unchanged_before);
		fewest = unchanged_before < fewest ? unchanged_before : fewest;
		payload_region_deinit(&made);
	}
	CHECK(fewest < RECORDS - 1);
}

int main(void)
{
	test_dump_begins();
	test_settings_change();
	test_pass_is_taken();
	test_pass_is_taken_within_original();
	test_pass_of_another();
	test_node_abandoned();
	return CHECK_RESULT();
}
