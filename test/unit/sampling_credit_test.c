// SPDX-License-Identifier: Apache-2.0
// A thread's sampling credit (inject/sampling/sampling_credit.h): how much of a gap it lets by at once, and what
// becomes of the gap when the tool takes it.
#include "check.h"
#include "payload_region.h"

#include "inject/hook/reentry.h"
#include "inject/sampling/budget.h"
#include "inject/sampling/sampling.h"
#include "inject/sampling/sampling_credit.h"
#include "inject/sampling/sampling_gap.h"
#include "inject/sampling/sampling_math.h"

enum { INTERVAL = 4096, SMALL = 16 };

static struct made_region made;
static struct thread_slot *slot;

static struct sampling_credit *own_credit(void)
{
	return &payload_region_state.credits[sampling_credit_index(arch_thread_pointer())];
}

static void take_credit(void) { *own_credit() = (struct sampling_credit){ 0 }; }

static void begin(const struct sampling_settings *settings)
{
	payload_region_init(&made, 100);
	sampling_settings_begin(made.header, settings, 1, 2000);
	slot = thread_slot_claim(arch_thread_pointer());
	if (!slot)
		exit(1);
}

static uint64_t bytes_drawn;
static struct choice choice;

static void draw(void) { choice = sampling_draw(slot, bytes_drawn); }

// No block as large as the interval goes by with the others: it stands for itself alone. So a gap passes in pieces, of
// which none is larger; with a budget none is larger than what its judge wants to see.
static void test_pieces(void)
{
	static const struct {
		struct sampling_settings settings;
		uint64_t interval, most;
	} cases[] = {
		{ { .mode = SAMPLING_interval, .interval = INTERVAL }, INTERVAL, INTERVAL },
		{ { .mode = SAMPLING_words, .interval = 2 }, 2, 2 },
		{ { .mode = SAMPLING_budget, .budget = 10000 }, 4 * GAP_PIECE, GAP_PIECE },
		{ { .mode = SAMPLING_budget, .budget = 10000 }, INTERVAL, INTERVAL },
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t longest = 0;

		begin(&cases[i].settings);
		slot->random = 1;
		for (unsigned k = 0; k < 1000; k++) {
			uint64_t random = slot->random,
				 gap = (uint64_t)sampling_gap(sampling_random(&random), cases[i].interval);

			slot->shared.interval = cases[i].interval;
			gap_begin(slot);
			CHECK((uint64_t)own_credit()->countdown == (gap < cases[i].most ? gap : cases[i].most));
			CHECK_EQUAL(slot->gap_rest + own_credit()->countdown, gap);
			longest = gap > longest ? gap : longest;
		}
		CHECK(longest > 2 * cases[i].most);
		payload_region_deinit(&made);
	}
}

// The tool takes the pass in the middle of a gap: what is left of the gap is known to nobody, so the thread's next call
// begins a fresh one.
static void test_credit_is_taken(void)
{
	const struct sampling_settings settings = { .mode = SAMPLING_interval, .interval = INTERVAL };

	for (unsigned i = 0; i < 100; i++) {
		uint64_t random;
		int64_t gap, piece;

		begin(&settings);
		bytes_drawn = SMALL;
		slot->random = i + 1;
		draw();
		CHECK_EQUAL(own_credit()->thread_pointer, slot->shared.thread_pointer);
		CHECK_EQUAL(slot->countdown, 0);
		own_credit()->countdown /= 2; // calls have passed
		take_credit();
		random = slot->random;
		gap = sampling_gap(sampling_random(&random), INTERVAL);
		piece = gap < INTERVAL ? gap : INTERVAL;
		draw();
		if (gap > SMALL) {
			CHECK_EQUAL(choice.interval, 0);
			CHECK_EQUAL(own_credit()->countdown, piece - SMALL);
			CHECK_EQUAL(slot->gap_rest, gap - piece);
			CHECK_EQUAL(slot->random, random);
		} else {
			CHECK_EQUAL(choice.interval, INTERVAL);
		}
		payload_region_deinit(&made);
	}
}

// So too while an original runs: the gap goes on, in the slot or in a new pass, for as many bytes as were left.
static void test_credit_is_taken_within_original(void)
{
	const struct sampling_settings settings = { .mode = SAMPLING_interval, .interval = INTERVAL };
	const uint64_t left = 1000;

	begin(&settings);
	bytes_drawn = SMALL;
	draw();
	slot->gap_rest = INTERVAL;
	*credit_countdown(slot) = (int64_t)left;
	reentry_enter_original(slot);
	CHECK_EQUAL(own_credit()->countdown, 0);
	take_credit();
	CHECK(reentry_leave_original(slot));
	CHECK_EQUAL(slot->countdown, left);
	draw();
	CHECK_EQUAL(choice.interval, 0);
	CHECK_EQUAL(own_credit()->countdown, left - SMALL);
	CHECK_EQUAL(slot->gap_rest, INTERVAL);
	CHECK_EQUAL(slot->countdown, 0);
	payload_region_deinit(&made);
}

// Another thread has the entry where this one's sampling credit would be: it counts down in its slot, and nothing goes
// by unseen.
static void test_credit_of_another(void)
{
	const struct sampling_settings settings = { .mode = SAMPLING_interval, .interval = INTERVAL };
	int64_t before;

	begin(&settings);
	*own_credit() = (struct sampling_credit){ .thread_pointer = 0x7000, .countdown = 7, .rest = 8, .interval = 9 };
	bytes_drawn = 1;
	draw();
	draw();
	before = slot->countdown;
	CHECK(before > 0 && credit_countdown(slot) == &slot->countdown);
	draw();
	CHECK_EQUAL(slot->countdown, before - 1);
	CHECK(own_credit()->thread_pointer == 0x7000 && own_credit()->countdown == 7 && own_credit()->rest == 8 &&
	      own_credit()->interval == 9);
	credit_give_back(slot);
	CHECK_EQUAL(own_credit()->thread_pointer, 0x7000);
	payload_region_deinit(&made);
}

int main(void)
{
	test_pieces();
	test_credit_is_taken();
	test_credit_is_taken_within_original();
	test_credit_of_another();
	return CHECK_RESULT();
}
