// SPDX-License-Identifier: Apache-2.0
#include "lib/sampling.h"

#include "lib/sampling_convert.h"

bool hs_sampling_interval_of_rate(double samples_per_word, uint32_t *ret)
{
	return sampling_interval_of_rate(samples_per_word, ret);
}

static enum sampling_mode mode_to_region(enum hs_sampling_mode mode)
{
	switch (mode) {
	case HS_SAMPLING_EXACT:
		return SAMPLING_exact;
	case HS_SAMPLING_INTERVAL:
		return SAMPLING_interval;
	case HS_SAMPLING_WORDS:
		return SAMPLING_words;
	case HS_SAMPLING_BUDGET:
		return SAMPLING_budget;
	case HS_SAMPLING_STOPPED:
		return SAMPLING_stopped;
	}
	return SAMPLING_exact;
}

static enum hs_sampling_mode mode_from_region(enum sampling_mode mode)
{
	switch (mode) {
	case SAMPLING_exact:
		return HS_SAMPLING_EXACT;
	case SAMPLING_interval:
		return HS_SAMPLING_INTERVAL;
	case SAMPLING_words:
		return HS_SAMPLING_WORDS;
	case SAMPLING_budget:
		return HS_SAMPLING_BUDGET;
	case SAMPLING_stopped:
		return HS_SAMPLING_STOPPED;
	}
	return HS_SAMPLING_EXACT;
}

struct sampling_settings sampling_to_region(const struct hs_sampling *sampling)
{
	return (struct sampling_settings){
		.mode = mode_to_region(sampling->mode),
		.interval = sampling->interval,
		.budget = sampling->budget,
		.first_us = sampling->first_us,
		.before = mode_to_region(sampling->before),
	};
}

struct hs_sampling sampling_from_region(const struct sampling_settings *settings)
{
	return (struct hs_sampling){
		.mode = mode_from_region(settings->mode),
		.interval = settings->interval,
		.budget = settings->budget,
		.first_us = settings->first_us,
		.before = mode_from_region(settings->before),
	};
}
