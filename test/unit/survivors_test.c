// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include "views/survivors.h"

#include <stdlib.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static char part[] = "older than 10 s";

// Epoch 5 began with the first one's cut.
static const struct profile_sample samples[] = {
	{ .labels = { .epoch = 4 },
	  .values = { .alloc_bytes = 900, .alloc_objects = 9, .live_bytes = 100, .live_objects = 1 } },
	{ .labels = { .epoch = 5 }, .values = { .live_bytes = 1000, .live_objects = 2 } },
	{ .labels = { .epoch = 1 }, .values = { .live_bytes = 10, .live_objects = 3, .live_bytes_variance = 4 } },
	{ .values = { .alloc_bytes = 5000, .alloc_objects = 50 } }, // was freed
};

static const struct {
	struct heap_profile old, new;
	const char *words; // NULL = they fit
} cases[] = {
	{ { .cut = { 7, 5, 0 }, .time_ns = 10 }, { .cut = { 7, 6, 0 }, .time_ns = 20 }, NULL },
	{ { .cut = { 7, 5, 0 }, .time_ns = 10 },
	  { .cut = { 7, 0, 9 }, .time_ns = 20 },
	  NULL }, // the second may stop it
	{ { .time_ns = 10 }, { .cut = { 7, 6, 0 }, .time_ns = 20 }, "of which attach" },
	{ { .cut = { 7, 5, 0 }, .time_ns = 10 }, { .time_ns = 20 }, "of which attach" },
	{ { .cut = { 7, 5, 0 }, .time_ns = 10 }, { .cut = { 8, 6, 0 }, .time_ns = 20 }, "different attaches" },
	{ { .cut = { 7, 0, 9 }, .time_ns = 10 }, { .cut = { 7, 6, 0 }, .time_ns = 20 }, "without --stop" },
	{ { .cut = { 7, 5, 0 }, .time_ns = 30 }, { .cut = { 7, 6, 0 }, .time_ns = 20 }, NULL }, // the clock was set
	{ { .cut = { 7, 5, 8 }, .time_ns = 30 }, { .cut = { 7, 0, 9 }, .time_ns = 20 }, NULL },
	{ { .cut = { 7, 5, 9 }, .time_ns = 10 }, { .cut = { 7, 0, 8 }, .time_ns = 20 }, "the earlier dump first" },
	{ { .cut = { 7, 5, 0 }, .time_ns = 30 }, { .cut = { 7, 0, 8 }, .time_ns = 20 }, "the earlier dump first" },
	{ { .cut = { 7, 5, 0 }, .time_ns = 20 }, { .cut = { 7, 4, 0 }, .time_ns = 20 }, "the earlier dump first" },
	{ { .cut = { 7, 5, 0 }, .selection = part }, { .cut = { 7, 6, 0 } }, "a part" },
	{ { .cut = { 7, 5, 0 } }, { .cut = { 7, 6, 0 }, .selection = part }, "a part" },
	{ { .cut = { 7, 5, 0 } }, { .cut = { 7, 6, 0 }, .is_difference = true }, "a difference" },
};

static void check_kept(const struct heap_profile *kept)
{
	CHECK_EQUAL(kept->sample_count, 2);
	CHECK_EQUAL(kept->samples[0].values.live_bytes, 100);
	CHECK_EQUAL(kept->samples[0].values.alloc_bytes, 100); // of what was freed nothing is known
	CHECK_EQUAL(kept->samples[1].values.live_bytes, 10);
	CHECK_EQUAL(kept->total.live_bytes, 110);
	CHECK_EQUAL(kept->total.live_objects, 4);
	CHECK(kept->total.live_bytes_variance == 4);
	CHECK_EQUAL(kept->recorded.live_bytes, 1110);
	CHECK(kept->selection != NULL);
}

static void check_case(size_t number)
{
	struct profile_sample copy[COUNT(samples)];
	struct heap_profile new = cases[number].new;
	struct hs_error *error;

	memcpy(copy, samples, sizeof(copy));
	new.samples = copy;
	new.sample_count = COUNT(copy);
	new.total = (struct profile_values){ .live_bytes = 1110, .live_objects = 6 };
	error = survivors_keep(&cases[number].old, &new);
	CHECK_EQUAL(error != NULL, cases[number].words != NULL);
	if (error) {
		CHECK(cases[number].words && strstr(error->message, cases[number].words));
		CHECK_EQUAL(new.sample_count, COUNT(copy));
	} else {
		check_kept(&new);
		free(new.selection);
	}
	hs_error_destroy(error);
}

// A block of which it is not said when it was allocated.
static void test_unsaid(void)
{
	struct profile_sample unsaid[] = { { .values = { .live_bytes = 1, .live_objects = 1 } } };
	struct heap_profile new = { .cut = { 7, 6, 0 }, .time_ns = 20, .samples = unsaid, .sample_count = 1 };
	struct hs_error *error = survivors_keep(&cases[0].old, &new);

	CHECK(error && error->code == HS_ERROR_BAD_DATA && strstr(error->message, "--labels dump"));
	hs_error_destroy(error);
}

int main(void)
{
	for (size_t i = 0; i < COUNT(cases); i++)
		check_case(i);
	test_unsaid();
	return CHECK_RESULT();
}
