// SPDX-License-Identifier: Apache-2.0
// The interval that follows from a window's numbers.
#include "check.h"

#include "inject/budget.h"

#define MS UINT64_C(2000000) // ticks, at 2 GHz

static const struct budget_costs costs = { .pass = 10, .record = 100 };

static uint64_t decide(uint64_t ticks, uint64_t calls, uint64_t bytes, uint64_t records, uint32_t budget, uint64_t interval, uint32_t *cost_ret)
{
	const struct budget_window window = { .ticks = ticks, .calls = calls, .bytes = bytes, .records = records };

	return budget_interval(&window, &costs, budget, interval, cost_ret);
}

// What a window with the same load costs at an interval, where each block has `size` bytes, well below it.
static double cost_at(uint64_t interval, double calls_a_tick, double size)
{
	double recorded = interval == 1 ? 1 : size / (double)interval;

	return 1e6 * calls_a_tick * ((double)costs.pass + recorded * (double)costs.record);
}

static void test_steady_loads(void)
{
	const uint64_t ticks = 20 * MS;
	uint32_t cost;

	for (uint32_t budget = 1000; budget <= 1000000; budget *= 10) {
		for (uint64_t calls = 1; calls < ticks; calls *= 2) {
			double rate = (double)calls / (double)ticks;
			uint64_t interval = decide(ticks, calls, 64 * calls, calls, budget, 1, &cost);

			if (interval == 1) {
				CHECK(cost_at(1, rate, 64) <= budget * 1.001);
			} else if (rate * (double)costs.pass * 1e6 >= budget) {
				CHECK_EQUAL(interval, HS_BUDGET_INTERVAL_MAX); // no interval is large enough
			} else {
				CHECK(cost_at(1, rate, 64) > budget * 0.999); // all would have been too much
				CHECK(interval >= HS_BUDGET_INTERVAL_MIN && (interval & (interval - 1)) == 0);
				CHECK(cost_at(interval, rate, 64) <= budget * 1.001 || interval == HS_BUDGET_INTERVAL_MAX);
				// The smallest power of two that does.
				CHECK(interval == HS_BUDGET_INTERVAL_MIN || cost_at(interval / 2, rate, 64) > budget * 0.99);
			}
		}
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

// Windows that nobody has ever had.
static void test_absurd(void)
{
	static const uint64_t values[] = { 0, 1, 1000, UINT64_C(1) << 40, UINT64_C(1) << 63, UINT64_MAX };
	uint32_t cost;

	for (size_t t = 0; t < 6; t++)
		for (size_t c = 0; c < 6; c++)
			for (size_t b = 0; b < 6; b++)
				for (size_t r = 0; r < 6; r++) {
					uint64_t interval = decide(values[t], values[c], values[b], values[r], 1000000, 1, &cost);

					CHECK(interval == 1 || (interval >= HS_BUDGET_INTERVAL_MIN && interval <= HS_BUDGET_INTERVAL_MAX));
				}
	const struct budget_window window = { .ticks = 1000, .calls = 10, .bytes = 100, .records = 10 };
	const struct budget_costs unknown = { 0, 0 }, enormous = { UINT64_MAX, UINT64_MAX };

	CHECK_EQUAL(budget_interval(&window, &unknown, 30000, 1, &cost), 1); // as if each took one tick
	CHECK_EQUAL(cost, 20000);
	CHECK_EQUAL(budget_interval(&window, &enormous, 30000, 1, &cost), HS_BUDGET_INTERVAL_MAX);
}

int main(void)
{
	test_steady_loads();
	test_return();
	test_absurd();
	return CHECK_RESULT();
}
