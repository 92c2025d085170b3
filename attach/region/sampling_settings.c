// SPDX-License-Identifier: Apache-2.0
#include "attach/region/sampling_settings.h"

#include "attach/arch/clock.h"
#include "base/clock.h"

enum { WORD_SIZE = 8 };

void sampling_settings_begin(struct region_header *header, const struct sampling_settings *settings, uint64_t seed,
			     uint32_t ticks_per_us)
{
	header->sampling_mode = settings->mode;
	header->sampling_interval = settings->interval;
	header->sampling_seed = seed;
	header->removals_exchange = settings->mode != SAMPLING_exact;
	header->budget = settings->budget;
	header->first_ticks = (uint64_t)settings->first_us * ticks_per_us;
	header->ticks_per_us = ticks_per_us;
	// until the budget is over
	header->always_exact = settings->mode == SAMPLING_exact || settings->mode == SAMPLING_budget;
	header->sampling_generation = 1;
	// Where every block is recorded, the Bloom filter would exclude nothing, so none is counted for it.
	if (settings->mode != SAMPLING_exact)
		header->removal_flags = REMOVAL_COUNTS_BLOOM;
}

// What both clocks said at one time.
struct moment {
	uint64_t ns, ticks;
	uint64_t width; // ns, how far apart the two may be
};

// Who is kept from the processor between the two readings would take the time for none: the narrowest of some counts.
static struct moment read_moment(void)
{
	enum { TRIES = 10 };
	struct moment best = { .width = UINT64_MAX };

	for (int i = 0; i < TRIES; i++) {
		const uint64_t before = hs_monotonic_ns(), ticks = arch_clock_ticks(),
			       width = hs_monotonic_ns() - before;

		if (width < best.width)
			best = (struct moment){ before + width / 2, ticks, width };
	}
	return best;
}

uint32_t sampling_measure_ticks(void)
{
	const uint64_t least = 1000000, most = 100000000; // ns
	const uint64_t part = 500;                        // of the time, which the two readings may be off by
	const struct moment first = read_moment();
	struct moment last;

	do {
		last = read_moment();
	} while (last.ns - first.ns < least ||
		 ((first.width + last.width) * part > last.ns - first.ns && last.ns - first.ns < most));
	return (uint32_t)((last.ticks - first.ticks) * 1000 / (last.ns - first.ns));
}

static bool has_interval(enum sampling_mode mode) { return mode == SAMPLING_interval || mode == SAMPLING_words; }

bool sampling_settings_read(const struct region_header *header, struct sampling_settings *ret)
{
	enum sampling_mode mode = (enum sampling_mode)header->sampling_mode;
	enum sampling_mode drawn = mode == SAMPLING_stopped ? (enum sampling_mode)header->sampling_before : mode;

	*ret = (struct sampling_settings){ .mode = SAMPLING_exact, .interval = 1 };
	if ((uint32_t)mode > SAMPLING_budget || (uint32_t)drawn > SAMPLING_budget || drawn == SAMPLING_stopped)
		return false;
	if (has_interval(drawn) && (header->sampling_interval < 2 || header->sampling_interval > HS_INTERVAL_MAX))
		return false;
	if (drawn == SAMPLING_budget && (header->budget == 0 || header->budget > HS_BUDGET_MAX))
		return false;
	*ret = (struct sampling_settings){
		.mode = mode,
		.interval = has_interval(drawn) ? header->sampling_interval : 1,
		.budget = drawn == SAMPLING_budget ? header->budget : 0,
		.before = drawn,
	};
	return true;
}

struct sampling_settings sampling_settings_after(const struct sampling_settings *now,
						 const struct sampling_change *change)
{
	struct sampling_settings after = *now;

	if (change->kind == SAMPLING_SET) {
		after = change->settings;
		after.before = after.mode;
	} else if (change->kind == SAMPLING_STOP) {
		after.mode = SAMPLING_stopped;
	} else if (change->kind == SAMPLING_START) {
		after.mode = now->before;
	}
	return after;
}

bool sampling_interval_of_rate(double samples_per_word, uint32_t *ret)
{
	double interval = samples_per_word > 0 ? WORD_SIZE / samples_per_word : 0; // not a number is not above 0

	if (!(interval >= 2 && interval <= HS_INTERVAL_MAX))
		return false;
	*ret = (uint32_t)(interval + 0.5);
	return true;
}
