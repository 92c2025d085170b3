// SPDX-License-Identifier: Apache-2.0
// Estimates where gaps are broken off: threads of a few blocks that have one control block after another, in the same
// slot or in others; threads that end in a hook; signal handlers within an inline fast path; a least interval that goes
// up. Each run makes blocks of known sizes by the payload's own code (sampling.c, thread_slot.c), with the inline fast
// path of entry.S in C, and adds up what the records stand for. Seeds are fixed, so it fails always or never.
#define PAYLOAD_CONFIG .tid_offset = 16
#include "check.h"
#include "payload_region.h"

#include "inject/hook/reentry.h"
#include "inject/hook/thread_slot.h"
#include "inject/sampling/sampling.h"
#include "inject/sampling/sampling_gap.h"
#include "snapshot/profile/estimate.h"

#include <math.h>

enum { RUNS = 400, CONTROL_BLOCKS = 8 };

#define CONTROL_BLOCKS_AT                                                                                              \
	UINT64_C(0x10000000) // the same in each run of the test: slots and passes are found by the address
#define CONTROL_BLOCKS_END UINT64_C(0x14000000)

static uint64_t control_blocks[CONTROL_BLOCKS]; // thread pointers that look for slots beside each other

static struct made_region made;

static struct {
	struct estimate estimate;
	double objects, bytes; // truth
	uint64_t thread_pointer;
	uint32_t next_tid;
	uint64_t dice;
} now;

static unsigned dice(unsigned sides)
{
	now.dice = now.dice * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(now.dice >> 33) % sides;
}

// A thread begins with a control block that another one may have had.
static void begin_thread(unsigned control_block)
{
	now.thread_pointer = control_blocks[control_block];
	*(uint64_t *)now.thread_pointer = now.thread_pointer; // as a libc's block begins
	*(uint32_t *)(now.thread_pointer + 16) = ++now.next_tid;
}

static struct thread_slot *current_slot(void)
{
	struct thread_slot *slots = (struct thread_slot *)(made.bytes + HS_OFFSET_SLOTS);
	struct thread_slot *slot = &slots[thread_slot_index(now.thread_pointer)];

	if (slot->shared.thread_pointer == now.thread_pointer && slot->mark == thread_mark(now.thread_pointer))
		return slot;
	slot = thread_slot_claim_at(now.thread_pointer, now.thread_pointer - HS_PAGE_SIZE);
	if (!slot) {
		fprintf(stderr, "no room for a thread's slot\n");
		exit(1);
	}
	return slot;
}

static struct sampling_credit *current_credit(void)
{
	return &payload_region_state.credits[sampling_credit_index(now.thread_pointer)];
}

static struct choice note(uint64_t size, struct choice choice)
{
	const struct block_record record = { .size_and_hook = size,
					     .interval = choice.interval,
					     .samples = choice.samples & HS_SAMPLES_MAX };

	now.objects += 1;
	now.bytes += (double)size;
	if (choice.interval)
		estimate_add(&now.estimate, &record);
	return choice;
}

static void in_c_code(uint64_t size) { (void)note(size, sampling_choose(current_slot(), size)); }

// As a malloc whose function is trusted. `interrupts`: where the inline fast path is about to undo what it has
// subtracted, a handler allocates.
static void allocate_interrupted(uint64_t size, uint64_t interrupts)
{
	struct sampling_credit *credit = current_credit();

	if (size && credit->thread_pointer == now.thread_pointer) {
		credit->countdown -= (int64_t)size;
		if (credit->countdown > 0) {
			(void)note(size, (struct choice){ 0, 0 });
			return;
		}
		if (interrupts)
			in_c_code(interrupts);
		credit->countdown += (int64_t)size;
	}
	in_c_code(size);
}

static void allocate(uint64_t size) { allocate_interrupted(size, 0); }

static void one_control_block(unsigned run)
{
	(void)run;
	for (unsigned thread = 0; thread < 400; thread++) {
		begin_thread(0);
		for (unsigned i = 0; i < 10; i++)
			allocate(1000);
	}
}

static void pool_of_threads(unsigned run)
{
	(void)run;
	for (unsigned thread = 0; thread < 300; thread++) {
		begin_thread(dice(4));
		for (unsigned i = dice(20); i > 0; i--)
			allocate(16 + dice(4000));
	}
}

static void one_block_each(unsigned run)
{
	(void)run;
	for (unsigned thread = 0; thread < 3000; thread++) {
		begin_thread(thread % CONTROL_BLOCKS);
		allocate(2000);
	}
}

// Slots are taken back when a thread has ended, and given to threads of other control blocks; passes stay where they
// are.
static void slots_change(unsigned run)
{
	(void)run;
	for (unsigned thread = 0; thread < 400; thread++) {
		begin_thread(dice(CONTROL_BLOCKS));
		for (unsigned i = 0; i < 10; i++)
			allocate(1000);
		if (dice(3) == 0)
			current_slot()->shared.thread_pointer = HS_KEY_ENDED;
	}
}

// The same where slots have intervals of their own, under a budget.
static void slots_of_a_budget_change(unsigned run)
{
	(void)run;
	for (unsigned thread = 0; thread < 400; thread++) {
		struct thread_slot *slot;

		begin_thread(dice(CONTROL_BLOCKS));
		for (unsigned i = 0; i < 10; i++)
			allocate(1000);
		slot = current_slot();
		if (dice(4) == 0) {
			slot->shared.interval = 4096 << 2 * dice(4);
			gap_begin(slot);
		}
		if (dice(2) == 0)
			slot->shared.thread_pointer = HS_KEY_ENDED;
	}
}

// Threads that are cancelled in malloc, or leave it by pthread_exit from a handler.
static void ends_in_original(unsigned run)
{
	static const struct hook_island island;

	(void)run;
	for (unsigned thread = 0; thread < 400; thread++) {
		struct entry_frame frame = { .return_address = 0x1000 };
		struct thread_slot *slot;

		begin_thread(0);
		for (unsigned i = 0; i < 10; i++)
			allocate(1000);
		slot = current_slot();
		(void)reentry_begin(&frame, &island);
		(void)sampling_choose(slot, 1000); // no block comes of it
		reentry_enter_original(slot);
	}
}

static void interrupted(unsigned run)
{
	(void)run;
	begin_thread(0);
	for (unsigned i = 0; i < 2000; i++)
		allocate_interrupted(1000, 700);
}

// Handlers that never come back: the gap must not stay broken off.
static void left_by_handlers(unsigned run)
{
	struct sampling_credit *credit;

	(void)run;
	begin_thread(0);
	for (unsigned i = 0; i < 4000; i++) {
		allocate(500);
		credit = current_credit();
		if (i % 400 == 0 && credit->thread_pointer == now.thread_pointer)
			credit->countdown = -500; // an inline fast path that was left
	}
}

// Dumps that take the sampling credits, so that nobody knows what is left of a gap.
static void credits_are_taken(unsigned run)
{
	(void)run;
	begin_thread(0);
	for (unsigned i = 0; i < 4000; i++) {
		allocate(1000);
		if (i % 30 == 7)
			memset(payload_region_state.credits, 0, sizeof(payload_region_state.credits));
	}
}

static void floor_rises(unsigned run)
{
	(void)run;
	for (unsigned thread = 0; thread < 200; thread++) {
		begin_thread(thread % 3);
		for (unsigned i = 0; i < 10; i++)
			allocate(1000);
		if (thread % 20 == 10) { // as downsampling_ask
			made.header->interval_floor = 4096 << thread / 40;
			made.header->sampling_generation++;
		}
	}
}

static void periodic(unsigned run)
{
	(void)run;
	begin_thread(0);
	for (unsigned i = 0; i < 1000; i++) {
		allocate(48);
		allocate(65536 - 48);
	}
}

static void growing(unsigned run)
{
	(void)run;
	begin_thread(0);
	for (unsigned i = 0; i < 300; i++)
		for (uint64_t size = 16; size <= 8192; size *= 2)
			in_c_code(size); // realloc never takes the inline fast path
}

// Under a budget that is never looked at: each slot samples at a large interval, so gaps pass in pieces.
static void under_budget(unsigned run)
{
	(void)run;
	for (unsigned thread = 0; thread < 400; thread++) {
		begin_thread(thread % 2);
		for (unsigned i = 0; i < 10; i++)
			allocate(i % 2 ? 30000 : 1000);
	}
}

static const struct scenario {
	const char *name;
	void (*work)(unsigned run);
	enum sampling_mode mode;
	uint32_t interval;
} scenarios[] = {
	{ "threads with one control block", one_control_block, SAMPLING_interval, 65536 },
	{ "threads with one control block, samples counted", one_control_block, SAMPLING_words, 16384 },
	{ "a pool of threads", pool_of_threads, SAMPLING_interval, 65536 },
	{ "a block for each thread", one_block_each, SAMPLING_interval, 65536 },
	{ "slots that change", slots_change, SAMPLING_interval, 65536 },
	{ "slots that change, under a budget", slots_of_a_budget_change, SAMPLING_budget, 65536 },
	{ "threads that end in the original", ends_in_original, SAMPLING_interval, 65536 },
	{ "handlers within the inline fast path", interrupted, SAMPLING_interval, 16384 },
	{ "handlers within the inline fast path, samples counted", interrupted, SAMPLING_words, 16384 },
	{ "inline fast paths that handlers have left", left_by_handlers, SAMPLING_interval, 16384 },
	{ "dumps that take the sampling credits", credits_are_taken, SAMPLING_interval, 65536 },
	{ "a least interval that rises", floor_rises, SAMPLING_interval, 2048 },
	{ "sizes in the interval's period", periodic, SAMPLING_interval, 65536 },
	{ "blocks that grow", growing, SAMPLING_interval, 65536 },
	{ "threads under a budget", under_budget, SAMPLING_budget, 65536 },
	{ "threads under a budget, in pieces", under_budget, SAMPLING_budget, 1 << 20 },
};

// Slots that were made in pages of the region go with the run.
static void take_slots_in_pages(void)
{
	uint64_t first = made.header->first_page + 1;

	memset(made.bytes + HS_OFFSET_EXTRA_SLOTS, 0, made.header->extra_slot_count * sizeof(uint32_t));
	memset(made.bytes + first * HS_PAGE_SIZE, 0, (made.header->next_page - first) * HS_PAGE_SIZE);
	made.header->extra_slot_count = 0;
	made.header->next_page = first;
}

static void begin_run(const struct scenario *scenario, unsigned run)
{
	static const struct thread_slot none;
	struct thread_slot *slots = (struct thread_slot *)(made.bytes + HS_OFFSET_SLOTS);

	memset(&now, 0, sizeof(now));
	now.dice = run;
	memset(payload_region_state.credits, 0, sizeof(payload_region_state.credits));
	for (unsigned i = 0; i < HS_THREAD_SLOTS / 64; i++) {
		for (unsigned bit = 0; bit < 64; bit++)
			if (made.header->used_slots[i] >> bit & 1)
				slots[i * 64 + bit] = none;
		made.header->used_slots[i] = 0;
	}
	take_slots_in_pages();
	made.header->thread_count = 0;
	made.header->sampling_mode = scenario->mode;
	made.header->sampling_interval = scenario->interval;
	made.header->sampling_seed = 1000 + run;
	made.header->sampling_generation = 1;
	made.header->interval_floor = 0;
	made.header->budget = 1;
	made.header->ticks_per_us = UINT32_MAX; // so that no window ever ends
	for (unsigned i = 0; i < CONTROL_BLOCKS && scenario->mode == SAMPLING_budget; i++) {
		struct thread_slot *slot;

		begin_thread(i);
		slot = current_slot();
		(void)sampling_draw(slot, 1);
		slot->shared.interval = scenario->interval;
		gap_begin(slot);
	}
}

struct tally {
	double sum, squares;
};

static void add(struct tally *tally, double value)
{
	tally->sum += value;
	tally->squares += value * value;
}

// The estimates of all runs are, on average, within four and a half of their mean's standard errors.
static void check_mean(const struct scenario *scenario, const char *what, const struct tally *tally)
{
	double mean = tally->sum / RUNS, variance = (tally->squares / RUNS - mean * mean) / (RUNS - 1),
	       away = mean / sqrt(variance);

	check_count++;
	printf("%s: %s off by %+.4f, %.2f standard errors\n", scenario->name, what, mean, away);
	if (fabs(away) <= 4.5)
		return;
	check_failures++;
	fprintf(stderr, "%s: the estimates of %s are off by %.4f of the truth on average: %.2f standard errors\n",
		scenario->name, what, mean, away);
}

static void test_scenario(const struct scenario *scenario)
{
	struct tally objects = { 0 }, bytes = { 0 };

	for (unsigned run = 0; run < RUNS; run++) {
		begin_run(scenario, run);
		scenario->work(run);
		add(&objects, now.estimate.objects / now.objects - 1);
		add(&bytes, now.estimate.bytes / now.bytes - 1);
	}
	check_mean(scenario, "objects", &objects);
	check_mean(scenario, "bytes", &bytes);
}

// A thread that has no number of its own has random numbers of its own all the same.
static void test_many_threads(void)
{
	uint64_t states[2];

	begin_run(&scenarios[0], 0);
	for (unsigned i = 0; i < 2; i++) {
		made.header->thread_count = HS_THREAD_HISTORY_MAX;
		begin_thread(i);
		in_c_code(100);
		states[i] = current_slot()->random;
	}
	CHECK(states[0] != states[1]);
}

static void place_control_blocks(void)
{
	static const uint32_t places[CONTROL_BLOCKS] = { 0, 0, 1, 4, 4, 5, 8, 8 }; // 0 and 4 have passes of their own
	uint64_t thread_pointer = CONTROL_BLOCKS_AT;
	uint32_t first = thread_slot_index(thread_pointer) + 8;

	if (mmap((void *)CONTROL_BLOCKS_AT, CONTROL_BLOCKS_END - CONTROL_BLOCKS_AT, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1,
		 0) != (void *)CONTROL_BLOCKS_AT) {
		perror("no memory for control blocks");
		exit(1);
	}
	for (unsigned i = 0; i < CONTROL_BLOCKS; i++) {
		do
			thread_pointer += 64;
		while (thread_pointer < CONTROL_BLOCKS_END - 64 &&
		       thread_slot_index(thread_pointer) != first + places[i]);
		control_blocks[i] = thread_pointer;
	}
	CHECK_EQUAL(thread_slot_index(control_blocks[CONTROL_BLOCKS - 1]), first + 8);
}

int main(void)
{
	payload_region_init(&made, 400);
	place_control_blocks();
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
		test_scenario(&scenarios[i]);
	test_many_threads();
	return CHECK_RESULT();
}
