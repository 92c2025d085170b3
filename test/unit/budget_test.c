// SPDX-License-Identifier: Apache-2.0
// The interval that follows from a window's numbers, and when records are downsampled.
#include "check.h"

#include "inject/sampling/budget.h"

#include <math.h>

#define MS UINT64_C(2000000) // ticks, at 2 GHz

static const struct budget_costs costs = { .unrecorded = 10, .frame = 20, .record = 80, .release = 20 };

enum { EACH = 100 }; // a record and its release

static uint64_t decide(uint64_t ticks, uint64_t calls, uint64_t bytes, uint64_t records, uint32_t budget,
		       uint64_t interval, uint32_t *cost_ret)
{
	const struct budget_window window = {
		.ticks = ticks, .calls = calls, .bytes = bytes, .records = records, .found = records
	};
	struct budget_verdict verdict = budget_judge(&window, &costs, budget, interval);

	*cost_ret = verdict.cost;
	CHECK_EQUAL(verdict.false_positives, 0);
	return verdict.interval;
}

// What a window with the same load costs at an interval, where each block has `size` bytes, well below it.
static double cost_at(uint64_t interval, double calls_a_tick, double size)
{
	double recorded = interval == 1 ? 1 : size / (double)interval;

	return 1e6 * calls_a_tick * ((double)costs.unrecorded + recorded * EACH);
}

static void test_steady_loads(void)
{
	const uint64_t ticks = 20 * MS;
	unsigned beyond = 0; // loads that cost more than the budget without any record
	uint32_t cost;

	for (uint32_t budget = 1000; budget <= 1000000; budget *= 10) {
		for (uint64_t calls = 1; calls < ticks; calls *= 2) {
			double rate = (double)calls / (double)ticks;
			uint64_t interval = decide(ticks, calls, 64 * calls, calls, budget, 1, &cost);

			if (interval == 1) {
				CHECK(cost_at(1, rate, 64) <= budget * 1.001);
			} else {
				double passing = rate * (double)costs.unrecorded * 1e6,
				       room = fmax(budget - passing, budget / 8.0);

				CHECK(cost_at(1, rate, 64) > budget * 0.999); // all would have been too much
				CHECK(interval >= HS_BUDGET_INTERVAL_MIN && (interval & (interval - 1)) == 0);
				CHECK(cost_at(interval, rate, 64) - passing <= room * 1.001 ||
				      interval == HS_BUDGET_INTERVAL_MAX);
				// The smallest power of two that does: also where no interval keeps the budget, because
				// the calls that pass cost more.
				CHECK(interval == HS_BUDGET_INTERVAL_MIN ||
				      cost_at(interval / 2, rate, 64) - passing > room * 0.99);
				beyond += passing >= budget;
			}
		}
	}
	CHECK(beyond > 10);
}

// What an interval does not change, by each of its parts: while it leaves some room there are fewer records, and beyond
// that as many as an eighth of the budget pays for, and no fewer.
static void test_what_is_fixed(void)
{
	const uint64_t ticks = 20 * MS, calls = 100000, allowed = ticks * 3 / 100; // of which passing takes 5/6
	const struct budget_window windows[] = {
		{ .ticks = ticks, .calls = calls, .bytes = 64 * calls, .false_positives = allowed / 20 },
		{ .ticks = ticks, .calls = calls, .bytes = 64 * calls, .framed = allowed / 20 },
		{ .ticks = ticks, .calls = calls, .bytes = 64 * calls, .others = allowed },
		{ .ticks = ticks, .calls = 100 * calls, .bytes = 64 * calls },
		{ .ticks = ticks,
		  .calls = 100 * calls,
		  .bytes = 64 * calls,
		  .false_positives = 100 * allowed,
		  .others = 100 * allowed },
	};
	const struct budget_window nothing_else = { .ticks = ticks, .calls = calls, .bytes = 64 * calls };
	uint64_t expected = 1, least = budget_judge(&nothing_else, &costs, 30000, 1024).interval;

	while (64 * calls / expected > allowed / 8 / EACH)
		expected *= 2;
	CHECK(least < expected);
	for (size_t i = 0; i < sizeof(windows) / sizeof(windows[0]); i++) {
		struct budget_verdict verdict = budget_judge(&windows[i], &costs, 30000, 1024);

		CHECK_EQUAL(verdict.interval, expected);
		CHECK(verdict.cost > 30000);
		CHECK_EQUAL(verdict.false_positives, windows[i].false_positives * costs.release * 1000000 / ticks);
	}
	// A thread that mostly releases what others have made may record the little it makes itself.
	const struct budget_window consumer = {
		.ticks = ticks, .calls = 10, .bytes = 640, .false_positives = 10 * allowed
	};

	CHECK_EQUAL(budget_judge(&consumer, &costs, 30000, 1024).interval, 1);
}

// When records are downsampled for the sake of releases that are looked for among them.
static void test_downsampling(void)
{
	static const struct {
		struct budget_bloom filter;
		uint32_t false_positives, expected;
	} cases[] = {
		{ { 100000, 64, 0, 0, false }, 15000, 0 }, // half of the budget
		{ { 100000, 64, 0, 0, false },
		  15001,
		  2048 }, // an eighth is aimed at, with a Bloom filter that is not full: 2,047 records
		{ { 100000, 64, 0, 0, false }, 30000, 4096 },    // 1,024 records
		{ { 100000, 64, 0, 0, false }, 3000000, 32768 }, // no fewer than 128
		{ { 128, 64, 0, 0, false }, 3000000, 0 },
		{ { 129, 64, 0, 0, false }, 3000000, 128 },
		{ { 4000, 64, 0, 0, false }, 15001, 128 }, // a filter that is half empty: 999 records
		{ { 4000, 1000, 0, 0, false }, 15001, 2048 },
		{ { 100000, 64, 4096, 1000, false }, 30000, 4096 }, // new ones have come
		{ { 8192, 64, 4096, 4096, false },
		  30000,
		  16384 }, // there were as many before: larger blocks than were expected
		{ { 2000, 64, 4096, 1000, false },
		  15001,
		  16384 }, // of those that were left no more than 499 are wanted
		{ { 50000, 64, 4096, 9000, false },
		  30000,
		  65536 }, // new ones have come, and of the old there were too many
		{ { UINT64_MAX, UINT64_MAX, 0, 0, false }, UINT32_MAX, HS_BUDGET_INTERVAL_MAX },
		{ { UINT64_MAX, 0, 0, 0, false }, UINT32_MAX, 1 << 24 }, // counted as 2^32 records of one byte
		{ { 1 << 20, 64, 0, 0, false }, 0, 0 },
		{ { (1 << 20) + 1, 64, 0, 0, false },
		  0,
		  128 }, // too many, though they cost nothing yet: 2^18 or twice as many
		{ { (1 << 20) + 1, 64, 256, 1 << 18, false }, 0, 256 },
		{ { (1 << 20) + 1, 64, 256, 1 << 20, false }, 0, 1024 },
		{ { (1 << 20) + 1, 64, 0, 0, false }, 30000, 32768 }, // and what they cost: 1,024
		{ { 2 << 20, 64, 4096, 1000, true }, 3000000, 0 },
		{ { 2 << 20, 64, 0, 0, true }, 0, 0 },
		{ { 100000, 64, HS_BUDGET_INTERVAL_MAX, 90000, false }, 30000, 0 }, // nothing is to be gained any more
		{ { 100000, 64, HS_BUDGET_INTERVAL_MAX, 9000, false }, 30000, HS_BUDGET_INTERVAL_MAX },
		{ { 100000, 64, HS_BUDGET_INTERVAL_MAX / 2, 90000, false }, 30000, HS_BUDGET_INTERVAL_MAX },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_EQUAL(budget_downsampling_interval(&cases[i].filter, cases[i].false_positives, 30000),
			    cases[i].expected);
}

// When finer samples are taken again after that.
static void test_easing(void)
{
	static const struct {
		uint64_t records;
		uint32_t floor, cost, false_positives;
		bool expected;
	} cases[] = {
		{ 31, 4096, 30000, 30000, true }, // so few cost nothing worth
		{ 32, 4096, 30000, 0, false },
		{ 100000, 4096, 10000, 3750, true }, // a third of the budget in all, an eighth for false positives
		{ 100000, 4096, 10001, 0, false },
		{ 100000, 4096, 0, 3751, false },
		{ 1 << 18, 4096, 0, 0, true },
		{ (1 << 18) + 1, 4096, 0, 0, false }, // twice as many come near to what the filter has room for
		{ 31, 0, 0, 0, false },               // there is nothing to ease
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct budget_bloom filter = { .records = cases[i].records, .floor = cases[i].floor };

		CHECK_EQUAL(budget_may_ease(&filter, cases[i].cost, cases[i].false_positives, 30000),
			    cases[i].expected);
	}
}

// All of them again only with room to spare; and an interval is left at once when the load goes.
static void test_return(void)
{
	const uint64_t ticks = 20 * MS, affordable = ticks * 3 / 100 / 110; // calls that 3 % pay for, recorded
	uint32_t cost;

	CHECK_EQUAL(decide(ticks, affordable, 64 * affordable, affordable, 30000, 1, &cost), 1);
	CHECK(cost >= 29000 && cost <= 30000);
	CHECK(decide(ticks, affordable, 64 * affordable, 10, 30000, 1024, &cost) > 1);
	CHECK(cost < 3000);
	CHECK_EQUAL(decide(ticks, affordable * 6 / 10, 64 * affordable, 10, 30000, 1024, &cost), 1);
	CHECK_EQUAL(decide(ticks, 1, 64, 0, 30000, HS_BUDGET_INTERVAL_MAX, &cost), 1);
}

// Loads of all kinds, at times none: what is spent in any time is the budget's part of it and what may be saved. Here
// each window of 1 ms is recorded in full while there is credit, and not at all else.
static void test_credit(void)
{
	static const struct budget_purse purse = { .budget = 30000,
						   .most = 20 * MS * 3 / 100 * 5,
						   .least = 20 * MS * 3 / 100 * 5 };
	static const uint64_t loads[] = { 0, MS / 100, MS / 30, MS / 3, MS, 3 * MS };

	for (unsigned on = 1; on < 200; on = on * 3 / 2 + 1) {
		for (unsigned off = 0; off < 2000; off = off * 2 + 1) {
			int64_t credit = 20 * MS * 3 / 100, begun_with = credit;
			uint64_t spent = 0, asked = 0, most_at_once = 0;

			for (unsigned ms = 0; ms < 3000; ms++) {
				uint64_t load = ms % (on + off) < on ? loads[ms / 500] : 0,
					 pays = credit > 0 ? load : 0;

				credit = budget_credit(&purse, credit, MS, pays);
				spent += pays;
				asked += load;
				most_at_once = load > most_at_once ? load : most_at_once;
				CHECK(spent <= (ms + 1) * MS * 3 / 100 + (uint64_t)begun_with + most_at_once);
			}
			CHECK(spent == asked || spent > 0);
			if (on == 1 && off >= 100) // short bursts that are affordable on average
				CHECK_EQUAL(spent, asked);
		}
	}
	CHECK_EQUAL(budget_credit(&purse, 0, UINT64_MAX, 0), purse.most);
	CHECK_EQUAL(budget_credit(&purse, INT64_MAX, 0, 0), purse.most);
	CHECK_EQUAL(budget_credit(&purse, INT64_MIN, 0, UINT64_MAX), -(int64_t)purse.least);
	CHECK_EQUAL(budget_credit(&purse, 100, 1000, 50), 80);
}

// What follows for a time in which not all are to be recorded, though they would be affordable.
static void test_sampled_all_the_same(void)
{
	const struct budget_window quiet = { .ticks = 20 * MS, .calls = 10, .bytes = 640 },
				   busy = { .ticks = 20 * MS, .calls = 1000000, .bytes = 64000000 };

	CHECK_EQUAL(budget_judge(&quiet, &costs, 30000, 1024).interval, 1);
	CHECK_EQUAL(budget_judge(&quiet, &costs, 30000, 1024).sampled, HS_BUDGET_INTERVAL_MIN);
	CHECK(budget_judge(&busy, &costs, 30000, 1024).interval > 1024);
	CHECK_EQUAL(budget_judge(&busy, &costs, 30000, 1024).sampled,
		    budget_judge(&busy, &costs, 30000, 1024).interval);
}

// Windows that nobody has ever had.
static void test_absurd(void)
{
	static const uint64_t values[] = { 0, 1, 1000, UINT64_C(1) << 40, UINT64_C(1) << 63, UINT64_MAX };

	for (unsigned i = 0; i < 6 * 6 * 6 * 6 * 6; i++) {
		const struct budget_window window = {
			.ticks = values[i % 6],
			.calls = values[i / 6 % 6],
			.bytes = values[i / 36 % 6],
			.records = values[i / 216 % 6],
			.framed = values[i / 6 % 6],
			.found = values[i / 36 % 6],
			.false_positives = values[i / 1296],
			.others = values[i / 216 % 6],
		};
		uint64_t interval = budget_judge(&window, &costs, 1000000, 1).interval;

		CHECK(interval == 1 || (interval >= HS_BUDGET_INTERVAL_MIN && interval <= HS_BUDGET_INTERVAL_MAX));
	}
	const struct budget_window window = { .ticks = 1000, .calls = 10, .bytes = 100, .records = 10 };
	const struct budget_costs unknown = { 0 }, enormous = { UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX };
	struct budget_verdict verdict = budget_judge(&window, &unknown, 30000, 1);

	CHECK_EQUAL(verdict.interval, 1); // as if each took one tick
	CHECK_EQUAL(verdict.cost, 20000);
	// as all 100 bytes are in one sample
	CHECK_EQUAL(budget_judge(&window, &enormous, 30000, 1).interval, HS_BUDGET_INTERVAL_MIN);
}

int main(void)
{
	test_steady_loads();
	test_what_is_fixed();
	test_downsampling();
	test_easing();
	test_return();
	test_credit();
	test_sampled_all_the_same();
	test_absurd();
	return CHECK_RESULT();
}
