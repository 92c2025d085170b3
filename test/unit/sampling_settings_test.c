// SPDX-License-Identifier: Apache-2.0
// What a header says of the settings, and what a change makes of them.
#include "check.h"

#include "attach/region/sampling_settings.h"

#include <math.h>

static void check_after(struct sampling_settings now, struct sampling_change change, enum sampling_mode mode,
			uint32_t interval, uint32_t budget)
{
	struct sampling_settings after = sampling_settings_after(&now, &change);
	struct region_header header = { .sampling_mode = after.mode,
					.sampling_interval = after.interval,
					.budget = after.budget,
					.sampling_before = after.before };
	struct sampling_settings read;

	CHECK_EQUAL(after.mode, mode);
	CHECK_EQUAL(after.interval, interval);
	CHECK_EQUAL(after.budget, budget);
	// What is written is read again.
	CHECK(sampling_settings_read(&header, &read));
	CHECK(read.mode == after.mode && read.interval == after.interval && read.budget == after.budget &&
	      read.before == after.before);
}

static void test_changes(void)
{
	const struct sampling_settings exact = { SAMPLING_exact, 1, 0, SAMPLING_exact, 0 };
	const struct sampling_settings interval = { SAMPLING_interval, 4096, 0, SAMPLING_interval, 0 };
	const struct sampling_settings words = { SAMPLING_words, 80000, 0, SAMPLING_words, 0 };
	const struct sampling_settings budget = { SAMPLING_budget, 1, 30000, SAMPLING_budget, 0 };
	const struct sampling_settings all[] = { exact, interval, words, budget };

	for (size_t i = 0; i < 4; i++) {
		const struct sampling_change stop = { .kind = SAMPLING_STOP }, start = { .kind = SAMPLING_START },
					     keep = { .kind = SAMPLING_KEEP };
		struct sampling_settings stopped = sampling_settings_after(&all[i], &stop);

		check_after(all[i], keep, all[i].mode, all[i].interval, all[i].budget);
		check_after(all[i], start, all[i].mode, all[i].interval, all[i].budget);
		check_after(all[i], stop, SAMPLING_stopped, all[i].interval, all[i].budget);
		check_after(stopped, stop, SAMPLING_stopped, all[i].interval, all[i].budget);
		check_after(stopped, keep, SAMPLING_stopped, all[i].interval, all[i].budget);
		check_after(stopped, start, all[i].mode, all[i].interval, all[i].budget);
		for (size_t j = 0; j < 4; j++) {
			const struct sampling_change set = {
				.kind = SAMPLING_SET, .settings = { all[j].mode, all[j].interval, all[j].budget, 0 }
			};

			check_after(all[i], set, all[j].mode, all[j].interval, all[j].budget);
			check_after(stopped, set, all[j].mode, all[j].interval, all[j].budget);
		}
	}
}

static bool makes_sense(uint32_t mode, uint32_t before, uint32_t interval, uint32_t budget)
{
	const struct region_header header = {
		.sampling_mode = mode, .sampling_before = before, .sampling_interval = interval, .budget = budget
	};
	struct sampling_settings read;
	bool ret = sampling_settings_read(&header, &read);

	if (!ret)
		CHECK(read.mode == SAMPLING_exact && read.interval == 1 && read.budget == 0);
	return ret;
}

static void test_headers(void)
{
	CHECK(makes_sense(SAMPLING_exact, 0, 0, 0));
	CHECK(makes_sense(SAMPLING_exact, 77, UINT32_MAX, UINT32_MAX)); // not looked at
	CHECK(makes_sense(SAMPLING_interval, 77, 2, 0));
	CHECK(makes_sense(SAMPLING_interval, 0, HS_INTERVAL_MAX, 0));
	CHECK(!makes_sense(SAMPLING_interval, 0, 1, 0));
	CHECK(!makes_sense(SAMPLING_interval, 0, 0, 0));
	CHECK(!makes_sense(SAMPLING_words, 0, HS_INTERVAL_MAX + 1, 0));
	CHECK(makes_sense(SAMPLING_budget, 0, 0, 1));
	CHECK(!makes_sense(SAMPLING_budget, 0, 0, 0));
	CHECK(!makes_sense(SAMPLING_budget, 0, 0, HS_BUDGET_MAX + 1));
	CHECK(makes_sense(SAMPLING_stopped, SAMPLING_exact, 0, 0));
	CHECK(makes_sense(SAMPLING_stopped, SAMPLING_words, 100, 0));
	CHECK(!makes_sense(SAMPLING_stopped, SAMPLING_words, 1, 0));
	CHECK(!makes_sense(SAMPLING_stopped, SAMPLING_stopped, 100, 0));
	CHECK(!makes_sense(SAMPLING_stopped, SAMPLING_budget + 1, 100, 1));
	CHECK(!makes_sense(SAMPLING_budget + 1, 0, 100, 1));
	CHECK(!makes_sense(UINT32_MAX, 0, 100, 1));
}

static void test_rates(void)
{
	uint32_t interval;

	CHECK(sampling_interval_of_rate(1e-4, &interval) && interval == 80000);
	CHECK(sampling_interval_of_rate(4, &interval) && interval == 2);
	CHECK(sampling_interval_of_rate(8.0 / HS_INTERVAL_MAX, &interval) && interval == HS_INTERVAL_MAX);
	CHECK(!sampling_interval_of_rate(4.0001, &interval));
	CHECK(!sampling_interval_of_rate(7.99 / HS_INTERVAL_MAX, &interval));
	CHECK(!sampling_interval_of_rate(0, &interval) && !sampling_interval_of_rate(-1e-4, &interval));
	CHECK(!sampling_interval_of_rate((double)NAN, &interval) &&
	      !sampling_interval_of_rate((double)INFINITY, &interval));
}

int main(void)
{
	test_changes();
	test_headers();
	test_rates();
	return CHECK_RESULT();
}
