// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include "hand_service.h"
#include "views/report.h"
#include "views/stack_filter.h"

#include <math.h>

#define ALL_CLASSES ((1U << FRAME_CLASS_COUNT) - 1)

// Rows as text: name, file:line, live bytes/blocks, and the cumulative live bytes.
static void write_rows(const struct report *report, char *text, size_t room)
{
	size_t at = 0;

	text[0] = '\0';
	for (size_t i = 0; i < report->count && at < room; i++) {
		const struct report_row *row = &report->rows[i];

		at += (size_t)snprintf(text + at, room - at, "%s %s:%" PRId64 " %" PRId64 "/%" PRId64, row->text.name,
				       row->text.file, row->text.line, row->values.live_bytes,
				       row->values.live_objects);
		if (row->has_cumulative && at < room)
			at += (size_t)snprintf(text + at, room - at, " %" PRId64, row->cumulative.live_bytes);
		if (at < room)
			at += (size_t)snprintf(text + at, room - at, "\n");
	}
	if (report->others_count > 0 && at < room)
		snprintf(text + at, room - at, "others %zu %" PRId64 "/%" PRId64 "\n", report->others_count,
			 report->others.live_bytes, report->others.live_objects);
}

static const struct {
	struct report_options options;
	const char *focus, *ignore, *expected;
} cases[] = {
	{ { .unit = UNIT_FUNCTION },
	  NULL,
	  NULL,
	  "vector::push_back vector.h:1 100/10 100\n"
	  "Cache::put cache.cpp:1 50/5 150\n"
	  "libz.so+0x2010 :0 30/3 30\n"
	  "serve serve.cpp:1 28/3 178\n" // in recursion too, each stack once
	  "malloc :1 4/1 4\n"
	  "[stack unknown] :0 2/1 2\n"
	  "serve other.cpp:1 2/1 2\n" },
	{ { .unit = UNIT_LINE, .is_cumulative = true },
	  NULL,
	  NULL,
	  "main main.cpp:3 0/0 210\n"
	  "serve serve.cpp:7 28/3 178\n"
	  "vector::push_back vector.h:99 100/10 100\n"
	  "Cache::put cache.cpp:18 0/0 100\n"
	  "Cache::put cache.cpp:25 50/5 50\n"
	  "libz.so+0x2010 :0 30/3 30\n"
	  "malloc :0 4/1 4\n"
	  "[stack unknown] :0 2/1 2\n"
	  "serve other.cpp:70 2/1 2\n" },
	{ { .unit = UNIT_MODULE },
	  NULL,
	  NULL,
	  "app :0 180/19 210\n"
	  "libz.so :0 30/3 30\n"
	  "libc.so.6 :0 4/1 4\n"
	  "[stack unknown] :0 2/1 2\n" },
	{ { .unit = UNIT_FILE, .limit = 3 },
	  NULL,
	  NULL,
	  "vector.h vector.h:0 100/10 100\n"
	  "cache.cpp cache.cpp:0 50/5 150\n"
	  "libz.so :0 30/3 30\n"
	  "others 4 36/6\n" },
	// without containers: the user's own line
	{ { .unit = UNIT_LINE, .hidden = 1U << FRAME_CONTAINER, .share_least = 0.15 },
	  NULL,
	  NULL,
	  "Cache::put cache.cpp:18 100/10 100\n"
	  "Cache::put cache.cpp:25 50/5 50\n"
	  "others 5 66/9\n" },
	// where everything is hidden the innermost place stays
	{ { .unit = UNIT_FUNCTION, .hidden = ALL_CLASSES, .limit = 2 },
	  NULL,
	  NULL,
	  "vector::push_back vector.h:1 100/10 100\n"
	  "Cache::put cache.cpp:1 50/5 50\n"
	  "others 5 66/9\n" },
	{ { .unit = UNIT_FUNCTION, .order = ORDER_NAME, .limit = 2 },
	  NULL,
	  NULL,
	  "Cache::put cache.cpp:1 50/5 150\n"
	  "[stack unknown] :0 2/1 2\n"
	  "others 5 164/18\n" },
	{ { .unit = UNIT_FUNCTION, .order = ORDER_ERROR, .limit = 2 },
	  NULL,
	  NULL,
	  "libz.so+0x2010 :0 30/3 30\n"
	  "vector::push_back vector.h:1 100/10 100\n"
	  "others 5 86/11\n" },
	{ { .unit = UNIT_FUNCTION, .order = ORDER_ALLOCATED, .limit = 1 },
	  NULL,
	  NULL,
	  "serve serve.cpp:1 28/3 178\nothers 6 188/21\n" },
	{ { .unit = UNIT_FUNCTION, .order = ORDER_ALLOCATIONS, .limit = 1 },
	  NULL,
	  NULL,
	  "vector::push_back vector.h:1 100/10 100\nothers 6 116/14\n" },
	{ { .unit = UNIT_FUNCTION, .order = ORDER_BLOCKS, .limit = 1 },
	  NULL,
	  NULL,
	  "vector::push_back vector.h:1 100/10 100\nothers 6 116/14\n" },
	{ { .unit = UNIT_FUNCTION, .order = ORDER_CUMULATIVE, .limit = 2 },
	  NULL,
	  NULL,
	  "serve serve.cpp:1 28/3 178\nCache::put cache.cpp:1 50/5 150\nothers 5 138/16\n" },
	{ { .unit = UNIT_FUNCTION },
	  "^Cache::put\\(int\\)$",
	  NULL,
	  "vector::push_back vector.h:1 100/10 100\nCache::put cache.cpp:1 50/5 150\n" },
	{ { .unit = UNIT_MODULE }, "libz", NULL, "libz.so :0 30/3 30\n" },
	// by a module, and one of frames that are not shown
	{ { .unit = UNIT_MODULE }, "^libc[.]so", NULL, "app :0 180/19 210\nlibz.so :0 30/3 30\nlibc.so.6 :0 4/1 4\n" },
	{ { .unit = UNIT_FUNCTION },
	  "other[.]cpp|^vector::",
	  NULL,
	  "vector::push_back vector.h:1 100/10 100\nserve other.cpp:1 2/1 2\n" },
	{ { .unit = UNIT_FUNCTION },
	  "main",
	  "vector|cache.cpp|libz",
	  "serve serve.cpp:1 28/3 28\nserve other.cpp:1 2/1 2\n" },
	{ { .unit = UNIT_FUNCTION }, NULL, "malloc", "[stack unknown] :0 2/1 2\n" },
	{ { .unit = UNIT_FUNCTION }, "nothing is called so", NULL, "" },
};

static void filter(const struct hand_profile *hand, const char *focus, const char *ignore, bool **kept)
{
	struct stack_filter *stack_filter = NULL;

	CHECK(!stack_filter_create(&stack_filter));
	if (focus)
		CHECK(!stack_filter_add(stack_filter, STACK_FOCUS, focus, "--focus"));
	if (ignore)
		CHECK(!stack_filter_add(stack_filter, STACK_IGNORE, ignore, "--ignore"));
	CHECK(!stack_filter_apply(stack_filter, &hand->named, kept));
	stack_filter_destroy(stack_filter);
}

static void test_cases(const struct hand_profile *hand)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct report_options options = cases[i].options;
		struct report report;
		char text[2000];
		bool *kept = NULL;

		filter(hand, cases[i].focus, cases[i].ignore, &kept);
		options.kept = kept;
		CHECK(!report_make(&hand->named, &options, &report));
		write_rows(&report, text, sizeof(text));
		CHECK_STRING(text, cases[i].expected);
		report_deinit(&report);
		free(kept);
	}
}

// Error bars add up as variances, and the total is that of what is kept.
static void test_sums(const struct hand_profile *hand)
{
	bool *kept = NULL;
	struct report report;

	filter(hand, NULL, "libz", &kept);
	CHECK(!report_make(&hand->named, &(struct report_options){ .unit = UNIT_MODULE, .kept = kept }, &report));
	CHECK_EQUAL(report.count, 3);
	CHECK_EQUAL(report.rows[0].values.live_bytes_variance, 1300);
	CHECK_EQUAL(report.rows[0].values.live_objects_variance, 13);
	CHECK_EQUAL(report.rows[0].cumulative.live_bytes_variance, 1300);
	CHECK_EQUAL(report.rows[0].values.live_records, 5);
	CHECK_EQUAL(report.rows[0].text.class, FRAME_UNKNOWN);
	CHECK_EQUAL(report.total.live_bytes, 186);
	CHECK_EQUAL(report.total.live_bytes_variance, 1300);
	CHECK_EQUAL(report.stack_count, 7);
	report_deinit(&report);
	free(kept);

	CHECK(!report_make(&hand->named, &(struct report_options){ .unit = UNIT_FUNCTION, .limit = 1 }, &report));
	CHECK_STRING(report.rows[0].text.full_name, "std::vector<int>::push_back");
	CHECK_STRING(report.rows[0].text.module, "app");
	CHECK_EQUAL(report.rows[0].text.class, FRAME_CONTAINER);
	CHECK_EQUAL(report.others.live_bytes_variance, 2900);
	report_deinit(&report);
}

// Several expressions of a kind: any of them.
static void test_filter(const struct hand_profile *hand)
{
	static const bool expected[SERVICE_SAMPLES] = { true, true, false, true, false, false, false, false };
	struct stack_filter *stack_filter = NULL;
	struct hs_error *error;
	bool *kept = NULL;

	CHECK(!stack_filter_create(&stack_filter));
	CHECK(!stack_filter_add(stack_filter, STACK_FOCUS, "libz", "--focus"));
	CHECK(!stack_filter_add(stack_filter, STACK_FOCUS, "Cache", "--focus"));
	CHECK(!stack_filter_add(stack_filter, STACK_IGNORE, "nothing", "--ignore"));
	CHECK(!stack_filter_add(stack_filter, STACK_IGNORE, "(put){3}|nobody", "--ignore"));
	error = stack_filter_add(stack_filter, STACK_IGNORE, "(", "--ignore");
	CHECK(error && error->code == HS_ERROR_BAD_DATA);
	CHECK_STRING(error ? error->message : "", "--ignore: '(' is not a regular expression: Unmatched ( or \\(");
	hs_error_destroy(error);
	CHECK(!stack_filter_apply(stack_filter, &hand->named, &kept));
	for (size_t i = 0; i < SERVICE_SAMPLES && kept; i++)
		CHECK_EQUAL(kept[i], expected[i]);
	free(kept);
	stack_filter_destroy(stack_filter);
}

static uint32_t depth_value(const struct heap_profile *profile, const struct profile_sample *sample)
{
	(void)profile;
	return sample->frame_count ? sample->frame_count : ATTRIBUTE_ABSENT;
}

static uint32_t no_value(const struct heap_profile *profile, const struct profile_sample *sample)
{
	(void)profile;
	(void)sample;
	return ATTRIBUTE_ABSENT;
}

static struct hs_error *depth_text(const struct heap_profile *profile, uint32_t value, char **ret)
{
	(void)profile;
	return asprintf(ret, "depth %u", value) < 0 ? &hs_error_no_memory : NULL;
}

static void test_attribute(const struct hand_profile *hand)
{
	static const struct sample_attribute depth = { "depth", depth_value, depth_text, false },
					     scale = { "depth", depth_value, depth_text, true },
					     none = { "colour", no_value, depth_text, false };
	struct report report;
	struct hs_error *error;
	char text[1000];

	CHECK(!report_make(&hand->named, &(struct report_options){ .attribute = &depth, .is_cumulative = true },
			   &report));
	write_rows(&report, text, sizeof(text));
	CHECK_STRING(text, "depth 5 :0 108/11\ndepth 3 :0 52/6\ndepth 4 :0 50/5\ndepth 1 :0 4/1\nunknown :0 2/1\n");
	CHECK_EQUAL(report.count, 5);
	CHECK(report.rows[4].is_absent && !report.rows[0].is_absent);
	CHECK_EQUAL(report.rows[0].group, 5);
	CHECK_EQUAL(report.total.live_bytes, 216);
	report_deinit(&report);

	// least first, if it is a scale and that is asked for; which ones are left is still what holds most
	CHECK(!report_make(&hand->named, &(struct report_options){ .attribute = &scale, .in_scale = true }, &report));
	write_rows(&report, text, sizeof(text));
	CHECK_STRING(text, "depth 1 :0 4/1\ndepth 3 :0 52/6\ndepth 4 :0 50/5\ndepth 5 :0 108/11\nunknown :0 2/1\n");
	report_deinit(&report);
	CHECK(!report_make(&hand->named, &(struct report_options){ .attribute = &scale, .in_scale = true, .limit = 2 },
			   &report));
	write_rows(&report, text, sizeof(text));
	CHECK_STRING(text, "depth 3 :0 52/6\ndepth 5 :0 108/11\nothers 3 56/7\n");
	report_deinit(&report);
	CHECK(!report_make(&hand->named, &(struct report_options){ .attribute = &depth, .in_scale = true, .limit = 2 },
			   &report));
	CHECK_STRING(report.rows[0].text.name, "depth 5");
	report_deinit(&report);

	error = report_make(&hand->named, &(struct report_options){ .attribute = &none }, &report);
	CHECK(error && error->code == HS_ERROR_NOT_FOUND);
	CHECK_STRING(error ? error->message : "", "the profile does not say the colour of its blocks");
	hs_error_destroy(error);
	CHECK_EQUAL(report.count, 0);
}

// Of a difference: what has shrunk counts as what has grown. And sums that no number has stay at its end.
static void test_signs(void)
{
	static const struct hand_sample changes[] = { { "acf", -100, -1, 0, 0, 4 },
						      { "ae", 60, 1, 0, 0, 0 },
						      { "af", 0, 0, 7, 1, 0 } },
					large[] = { { "acf", INT64_MAX, 1, 1, 1, 0 },
						    { "aef", INT64_MAX, 1, 1, 1, 0 },
						    { "ag", INT64_MIN, 1, 1, 1, 0 },
						    { "ag", -5, 1, 1, 1, 0 } };
	struct hand_profile hand;
	struct report report;
	char text[1000];

	hand_make(&hand, service_places, SERVICE_PLACES, changes, 3, 0x10000);
	CHECK(!report_make(&hand.named, &(struct report_options){ .share_least = 0.3 }, &report));
	write_rows(&report, text, sizeof(text));
	CHECK_STRING(text, "Cache::put cache.cpp:1 -100/-1 -100\nserve serve.cpp:1 60/1 60\nothers 1 0/0\n");
	CHECK_EQUAL(report.rows[0].size, 100);
	report_deinit(&report);
	hand_free(&hand);

	hand_make(&hand, service_places, SERVICE_PLACES, large, 4, 0x10000);
	CHECK(!report_make(&hand.named, &(struct report_options){ .is_cumulative = true, .limit = 4 }, &report));
	CHECK_EQUAL(report.rows[0].cumulative.live_bytes, INT64_MAX);
	CHECK_EQUAL(report.rows[3].cumulative.live_bytes, INT64_MIN);
	CHECK_STRING(report.rows[3].text.name, "libz.so+0x2010");
	CHECK_EQUAL(report.others_count, 0);
	report_deinit(&report);
	hand_free(&hand);
}

static void test_empty(void)
{
	struct hand_profile hand;
	struct report report;
	bool *kept = NULL;

	hand_make(&hand, NULL, 0, NULL, 0, 0);
	CHECK(!report_make(&hand.named, &(struct report_options){ .share_least = 1 }, &report));
	CHECK_EQUAL(report.count, 0);
	CHECK_EQUAL(report.others_count, 0);
	filter(&hand, "x", "y", &kept);
	free(kept);
	report_deinit(&report);
	hand_free(&hand);
}

int main(void)
{
	struct hand_profile hand;

	hand_make(&hand, service_places, SERVICE_PLACES, service_samples, SERVICE_SAMPLES, 0x10000);
	test_cases(&hand);
	test_sums(&hand);
	test_filter(&hand);
	test_attribute(&hand);
	hand_free(&hand);
	test_signs();
	test_empty();
	return CHECK_RESULT();
}
