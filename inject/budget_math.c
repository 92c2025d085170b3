// SPDX-License-Identifier: Apache-2.0
#include "budget.h"

static uint64_t power_of_two_at_least(uint64_t value)
{
	return value <= 1 ? 1 : UINT64_C(1) << (64 - (unsigned)__builtin_clzll(value - 1));
}

static uint64_t between(uint64_t value, uint64_t least, uint64_t most) { return value < least ? least : value > most ? most : value; }

uint64_t budget_interval(const struct budget_window *window, const struct budget_costs *costs, uint32_t budget, uint64_t interval,
			 uint32_t *cost_ret)
{
	const uint64_t limit = UINT64_C(1) << 40; // so that no product overflows
	uint64_t ticks = between(window->ticks, 1, limit), calls = between(window->calls, 1, limit);
	uint64_t record = between(costs->record, 1, 1 << 20), pass = between(costs->pass, 1, 1 << 20);
	uint64_t allowed = ticks * budget / 1000000;
	uint64_t passing = calls * pass, spent = passing + between(window->records, 0, limit) * record, affordable;

	*cost_ret = spent >= UINT64_C(1) << 43 ? UINT32_MAX : (uint32_t)between(spent * 1000000 / ticks, 0, UINT32_MAX);
	if (passing >= allowed)
		return HS_BUDGET_INTERVAL_MAX;
	affordable = (allowed - passing) / record;
	// Back to all of them only with room to spare, or it would go to and fro.
	if (affordable >= (interval == 1 ? calls : calls + calls / 2))
		return 1;
	return between(power_of_two_at_least(between(window->bytes, 1, limit) / (affordable + 1)), HS_BUDGET_INTERVAL_MIN, HS_BUDGET_INTERVAL_MAX);
}
