// SPDX-License-Identifier: Apache-2.0
#include "inject/sampling/budget.h"

static uint64_t power_of_two_at_least(uint64_t value)
{
	return value <= 1 ? 1 : UINT64_C(1) << (64 - (unsigned)__builtin_clzll(value - 1));
}

static uint64_t between(uint64_t value, uint64_t least, uint64_t most)
{
	return value < least ? least : value > most ? most : value;
}

uint32_t budget_share(uint64_t part, uint64_t whole)
{
	return part >= UINT64_C(1) << 43 ? UINT32_MAX : (uint32_t)between(part * 1000000 / whole, 0, UINT32_MAX);
}

struct budget_verdict budget_judge(const struct budget_window *window, const struct budget_costs *costs,
				   uint32_t budget, uint64_t interval)
{
	const uint64_t limit = UINT64_C(1) << 38, slow = 1 << 20; // so that nothing overflows
	uint64_t ticks = between(window->ticks, 1, limit), calls = between(window->calls, 1, limit);
	uint64_t record = between(costs->record, 1, slow), release = between(costs->release, 0, slow);
	uint64_t allowed = ticks * budget / 1000000,
		 false_positives = between(window->false_positives, 0, limit) * release;
	uint64_t fixed = calls * between(costs->unrecorded, 1, slow) +
			 between(window->framed, 0, limit) * between(costs->frame, 0, slow) + false_positives +
			 between(window->others, 0, limit);
	uint64_t found = between(window->found, 0, limit) * release;
	struct budget_verdict verdict = {
		.cost = budget_share(fixed + between(window->records, 0, limit) * record + found, ticks),
		.false_positives = budget_share(false_positives, ticks),
	};
	// Where what an interval does not change is over the budget, no interval is large enough; a part of the budget
	// is left to records, which then costs little beside the rest.
	uint64_t least = allowed / BUDGET_RECORDING_PART;
	uint64_t affordable = (fixed + least <= allowed ? allowed - fixed : least) / (record + release);

	verdict.sampled = between(power_of_two_at_least(between(window->bytes, 1, limit) / (affordable + 1)),
				  HS_BUDGET_INTERVAL_MIN, HS_BUDGET_INTERVAL_MAX);
	// Back to all of them only with room to spare, or it would go to and fro.
	verdict.interval = affordable >= (interval == 1 ? calls : calls + calls / 2) ? 1 : verdict.sampled;
	return verdict;
}

int64_t budget_credit(const struct budget_purse *purse, int64_t credit, uint64_t ticks, uint64_t spent)
{
	const uint64_t limit = UINT64_C(1) << 38; // so that nothing overflows
	int64_t most = (int64_t)between(purse->most, 0, limit), least = -(int64_t)between(purse->least, 0, limit);

	credit = credit < least ? least : credit > most ? most : credit;
	credit += (int64_t)(between(ticks, 0, limit) * between(purse->budget, 0, 1000000) / 1000000) -
		  (int64_t)between(spent, 0, limit);
	return credit < least ? least : credit > most ? most : credit;
}

bool budget_may_ease(const struct budget_bloom *filter, uint32_t cost, uint32_t false_positives, uint32_t budget)
{
	enum { COST_PART = 3, FALSE_POSITIVES_PART = 4 * BUDGET_FALSE_POSITIVES_PART };

	if (!filter->floor || filter->records > BUDGET_BLOOM_MOST / 4)
		return false;
	return filter->records < BUDGET_BLOOM_LEAST / 4 ||
	       (cost <= budget / COST_PART && false_positives <= budget / FALSE_POSITIVES_PART);
}

uint32_t budget_downsampling_interval(const struct budget_bloom *filter, uint32_t false_positives, uint32_t budget)
{
	uint64_t most = budget / BUDGET_FALSE_POSITIVES_PART, records = between(filter->records, 0, UINT64_C(1) << 32),
		 wanted;

	bool is_full = records > BUDGET_BLOOM_MOST, costs_much = false_positives > most && records > BUDGET_BLOOM_LEAST;

	if ((!is_full && !costs_much) || filter->is_saturated)
		return 0;
	// The false positives are in proportion to the counters that are not 0. That number is at most the records',
	// and where there are few of them near it.
	if (costs_much)
		wanted = between(between(records, 0, HS_BLOOM_SIZE) * (budget / BUDGET_FALSE_POSITIVES_AIM) /
					 false_positives,
				 BUDGET_BLOOM_LEAST, records);
	else
		wanted = BUDGET_BLOOM_MOST / 4;
	// all were recorded, so of n bytes n / R are left; half of that, as blocks that stay may be larger than others
	if (filter->floor <= 1)
		return (uint32_t)between(power_of_two_at_least(between(filter->mean_size, 1, HS_BUDGET_INTERVAL_MAX) *
							       records / wanted / 2),
					 HS_BUDGET_INTERVAL_MIN, HS_BUDGET_INTERVAL_MAX);
	if (filter->records_left <= wanted) // it was enough: others came since
		return filter->floor;
	if (filter->floor >= HS_BUDGET_INTERVAL_MAX)
		return records > 2 * (uint64_t)filter->records_left ? filter->floor : 0;
	return (uint32_t)between(power_of_two_at_least((uint64_t)filter->floor * filter->records_left / wanted),
				 2 * (uint64_t)filter->floor, HS_BUDGET_INTERVAL_MAX);
}
