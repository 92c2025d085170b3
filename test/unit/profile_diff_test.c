// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include "hand_service.h"
#include "views/diff.h"
#include "views/profile_merge.h"

#define SECOND INT64_C(1000000000)

// A line a stack, its places innermost first: names with lines, or what code without a symbol is in.
static void write_diff(const struct heap_profile *profile, char *text, size_t room)
{
	size_t at = 0;

	text[0] = '\0';
	for (size_t i = 0; i < profile->sample_count && at < room; i++) {
		const struct profile_sample *sample = &profile->samples[i];

		for (uint32_t f = 0; f < sample->frame_count && at < room; f++) {
			const struct profile_location *location =
				&profile->locations[profile->frames[sample->first_frame + f]];
			const struct profile_line *line = &profile->lines[location->first_line];

			if (location->line_count)
				at += (size_t)snprintf(text + at, room - at, "%s:%" PRId64 " ",
						       profile->functions[line->function].name, line->line);
			else
				at += (size_t)snprintf(text + at, room - at, "%s+ ",
						       profile->mappings[location->mapping].file);
		}
		if (at < room)
			at += (size_t)snprintf(text + at, room - at,
					       "%" PRId64 "/%" PRId64 " %" PRId64 "/%" PRId64 "\n",
					       sample->values.live_bytes, sample->values.live_objects,
					       sample->values.alloc_bytes, sample->values.alloc_objects);
	}
}

// The same program at other addresses, with places in another order; one function and one line are others.
static const struct hand_place later_places[] = {
	{ "main", "main", "main.cpp", 3, "app", FRAME_OWN },                                            // a
	{ "serve", "serve(int)", "serve.cpp", 7, "app", FRAME_OWN },                                    // b
	{ "libz.so+0x2010", NULL, "", 0x2010, "/usr/lib/libz.so (deleted)", FRAME_UNKNOWN },            // c
	{ "malloc", "malloc", "", 0, "libc.so.6", FRAME_ALLOCATOR },                                    // d
	{ "Cache::put", "Cache::put(int)", "cache.cpp", 19, "app", FRAME_OWN },                         // e: was 18
	{ "vector::push_back", "std::vector<int>::push_back", "vector.h", 99, "app", FRAME_CONTAINER }, // f
	{ "libz.so+0x2020", NULL, "", 0x2020, "libz.so", FRAME_UNKNOWN },                               // g
	{ "fresh", "fresh", "", 0, "app", FRAME_OWN },                                                  // h
	{ "fresh", "fresh", "", 0, "plugin.so", FRAME_OWN },                                            // i
	{ "serve", "serve(int)", "serve.cpp", 7, "app", FRAME_OWN }, // j: another address in the same line as b
};
#define LATER_PLACES (sizeof(later_places) / sizeof(later_places[0]))

static const struct hand_sample later_samples[] = {
	{ "dfeba", 100, 10, 1000, 100, 10 },
	{ "dba", 25, 3, 4100, 4, 20 },
	{ "dca", 31, 3, 30, 3, 7 },
	{ "dga", 5, 1, 5, 1, 0 },
	{ "dbaba", 8, 1, 8, 1, 40 },
	{ "d", 4, 1, 4, 1, 0 },
	{ "", 1, 1, 2, 1, 0 },
	{ "dha", 6, 1, 6, 1, 0 },
	{ "dia", 7, 1, 7, 1, 0 },
	{ "dja", 1, 1, 1, 1, 0 },
};
#define LATER_SAMPLES (sizeof(later_samples) / sizeof(later_samples[0]))

static const char expected[] = "malloc:0 std::vector<int>::push_back:99 Cache::put(int):19 serve(int):7 main:3 "
			       "100/10 1000/100\n"
			       "malloc:0 serve(int):7 main:3 6/2 101/4\n"
			       "malloc:0 /usr/lib/libz.so (deleted)+ main:3 1/0 0/0\n"
			       "malloc:0 libz.so+ main:3 5/1 5/1\n"
			       "-1/0 0/0\n"
			       "malloc:0 fresh:0 main:3 6/1 6/1\n"
			       "malloc:0 fresh:0 main:3 7/1 7/1\n"
			       "malloc:0 std::vector<int>::push_back:99 Cache::put(int):18 serve(int):7 main:3 "
			       "-100/-10 -1000/-100\n"
			       "malloc:0 Cache::put(int):25 serve(int):7 main:3 -50/-5 -50/-5\n"
			       "malloc:0 serve(int):70 main:3 -2/-1 -2/-1\n";

static void test_places(void)
{
	struct hand_profile old, new;
	struct profile_diff diff;
	char text[2000];

	hand_make(&old, service_places, SERVICE_PLACES, service_samples, SERVICE_SAMPLES, 0x10000);
	hand_make(&new, later_places, LATER_PLACES, later_samples, LATER_SAMPLES, 0x7f00000000);
	CHECK(!profile_diff_make(&old.profile, &new.profile, &diff));
	write_diff(&diff.profile, text, sizeof(text));
	CHECK_STRING(text, expected);
	CHECK(diff.profile.is_difference);
	CHECK_EQUAL(diff.profile.total.live_bytes, 188 - 216);
	CHECK_EQUAL(diff.profile.total.live_bytes_variance, 77 + 3800);
	CHECK_EQUAL(diff.profile.samples[2].values.live_bytes_variance, 2507);
	CHECK_EQUAL(diff.profile.samples[2].values.live_records, 2);
	CHECK(diff.profile.locations[diff.profile.frames[0]].is_allocator);
	profile_diff_deinit(&diff);

	// nothing is left of what agrees, and the totals are still differences
	CHECK(!profile_diff_make(&new.profile, &new.profile, &diff));
	CHECK_EQUAL(diff.profile.sample_count, 0);
	CHECK_EQUAL(diff.profile.frame_count, 0);
	CHECK_EQUAL(diff.profile.total.live_bytes, 0);
	CHECK_EQUAL(diff.profile.total.live_bytes_variance, 154);
	profile_diff_deinit(&diff);
	hand_free(&old);
	hand_free(&new);
}

static void label(struct hand_profile *hand, char *const *texts, const struct profile_labels *labels)
{
	hand->profile.label_texts = (char **)(uintptr_t)texts;
	hand->profile.label_text_count = 3;
	for (size_t i = 0; i < hand->profile.sample_count; i++)
		hand->profile.samples[i].labels = labels[i];
}

static const char *text_of(const struct heap_profile *profile, uint32_t label)
{
	return label ? profile->label_texts[label - 1] : "-";
}

// Which labels keep a stack apart is the caller's to say; texts are the same where they read the same.
static void test_labels(void)
{
	static const struct hand_place place = { "f", "f", "f.c", 1, "app", FRAME_OWN };
	static const struct hand_sample before[] = { { "a", 10, 1, 10, 1, 0 }, { "a", 20, 2, 20, 2, 0 } },
					after[] = { { "a", 15, 2, 15, 2, 0 }, { "a", 90, 3, 90, 3, 0 } };
	static char *const old_texts[] = { "one", "two", "three" }, *const new_texts[] = { "three", "two", "one" };
	static const struct profile_labels
		old_labels[] = { { .thread = 1, .size = 3, .age = 1, .epoch = 1, .kind = 3 },
				 { .thread = 2, .size = 3, .age = 2, .epoch = 1, .kind = 1 } },
		new_labels[] = { { .thread = 3, .size = 3, .age = 2, .epoch = 2, .kind = 1 },
				 { .thread = 9, .size = 4, .age = 2, .epoch = 2, .allocator = 2 } };
	static const struct {
		unsigned labels;
		const char *expected; // bytes/blocks thread size age; and with those: kind allocator
	} cases[] = {
		{ 0, "75/2 - 0 0\n" },
		{ MERGE_THREAD, "5/1 one 0 0\n90/3 - 0 0\n-20/-2 two 0 0\n" },
		{ MERGE_SIZE, "-15/-1 - 3 0\n90/3 - 4 0\n" },
		{ MERGE_AGE, "85/3 - 0 2\n-10/-1 - 0 1\n" },
		{ MERGE_THREAD | MERGE_AGE, "15/2 one 0 2\n90/3 - 0 2\n-10/-1 one 0 1\n-20/-2 two 0 2\n" },
		{ MERGE_KIND, "5/1 - 0 0 three -\n90/3 - 0 0 - -\n-20/-2 - 0 0 one -\n" },
		{ MERGE_ALLOCATOR, "-15/-1 - 0 0 - -\n90/3 - 0 0 - two\n" },
	};
	struct hand_profile old, new;
	struct profile_diff diff;

	hand_make(&old, &place, 1, before, 2, 0x10000);
	hand_make(&new, &place, 1, after, 2, 0x20000);
	label(&old, old_texts, old_labels);
	label(&new, new_texts, new_labels);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[400] = "";
		size_t at = 0;

		CHECK(!profile_diff_make_by(&old.profile, &new.profile, cases[i].labels, &diff));
		for (size_t s = 0; s < diff.profile.sample_count; s++) {
			const struct profile_sample *sample = &diff.profile.samples[s];

			CHECK_EQUAL(sample->frame_count, 1);
			CHECK_EQUAL(sample->labels.epoch, 0);
			at += (size_t)snprintf(text + at, sizeof(text) - at, "%" PRId64 "/%" PRId64 " %s %u %u",
					       sample->values.live_bytes, sample->values.live_objects,
					       text_of(&diff.profile, sample->labels.thread),
					       (unsigned)sample->labels.size, (unsigned)sample->labels.age);
			if (cases[i].labels & (MERGE_KIND | MERGE_ALLOCATOR))
				at += (size_t)snprintf(text + at, sizeof(text) - at, " %s %s",
						       text_of(&diff.profile, sample->labels.kind),
						       text_of(&diff.profile, sample->labels.allocator));
			at += (size_t)snprintf(text + at, sizeof(text) - at, "\n");
		}
		CHECK_STRING(text, cases[i].expected);
		profile_diff_deinit(&diff);
	}
	old.profile.label_texts = new.profile.label_texts = NULL;
	old.profile.label_text_count = new.profile.label_text_count = 0;
	hand_free(&old);
	hand_free(&new);
}

// An address in no file is the same code in the same process only.
static void test_no_file(void)
{
	static const struct hand_place place = { "jit", NULL, "", 0x2000, "[unknown]", FRAME_UNKNOWN };
	static const struct hand_sample before = { "a", 10, 1, 10, 1, 0 }, after = { "a", 30, 2, 30, 2, 0 };
	static const struct {
		int32_t old_pid, new_pid;
		const char *expected;
	} cases[] = {
		{ 7, 7, "[unknown]+ 20/1 20/1\n" },
		{ 0, 7, "[unknown]+ 20/1 20/1\n" },
		{ 7, 8, "[unknown]+ 30/2 30/2\n[unknown]+ -10/-1 -10/-1\n" },
	};
	struct hand_profile old, new;
	struct profile_diff diff;
	char text[1000];

	hand_make(&old, &place, 1, &before, 1, 0x10000);
	hand_make(&new, &place, 1, &after, 1, 0x10000);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		old.profile.pid = cases[i].old_pid;
		new.profile.pid = cases[i].new_pid;
		CHECK(!profile_diff_make(&old.profile, &new.profile, &diff));
		write_diff(&diff.profile, text, sizeof(text));
		CHECK_STRING(text, cases[i].expected);
		profile_diff_deinit(&diff);
	}
	hand_free(&old);
	hand_free(&new);
}

// Code of modules that no mapping tells of; a mapping's build id is as a module's.
static void test_modules(void)
{
	static const struct hand_place places[] = { { "a", NULL, "", 0x1100, "", FRAME_UNKNOWN },
						    { "b", NULL, "", 0x1200, "", FRAME_UNKNOWN } };
	static const struct hand_sample samples[] = { { "a", 10, 1, 10, 1, 0 }, { "b", 20, 1, 20, 1, 0 } };
	struct profile_module old_module = { .path = "/old/libx.so",
					     .load_bias = 0x10000,
					     .build_id = { 0xab, 0x0c },
					     .build_id_size = 2 },
			      new_module = { .path = "/new/libx.so",
					     .load_bias = 0x50000,
					     .build_id = { 0xab, 0x0c },
					     .build_id_size = 2 };
	struct hand_profile old, new;
	struct profile_diff diff;

	hand_make(&old, places, 2, samples, 2, 0x10000);
	hand_make(&new, places, 2, samples, 2, 0x50000);
	old.profile.modules = &old_module;
	new.profile.modules = &new_module;
	old.profile.module_count = new.profile.module_count = 1;
	for (int i = 0; i < 2; i++)
		old.profile.locations[i].module = new.profile.locations[i].module = 0;
	CHECK(!profile_diff_make(&old.profile, &new.profile, &diff));
	CHECK_EQUAL(diff.profile.sample_count, 0);
	CHECK_EQUAL(diff.profile.module_count, 2);
	CHECK_EQUAL(diff.profile.location_count, 2);
	CHECK_STRING(diff.profile.modules[1].path, "/old/libx.so");
	profile_diff_deinit(&diff);

	new_module.build_id[1] = 0x0d; // another build: its offsets mean something else
	CHECK(!profile_diff_make(&old.profile, &new.profile, &diff));
	CHECK_EQUAL(diff.profile.sample_count, 4);
	CHECK_EQUAL(diff.profile.locations[3].module, 1);
	profile_diff_deinit(&diff);
	new_module.build_id[1] = 0x0c;

	old.profile.mappings[0].file = "/a/libx.so"; // as a file tells it that was written by another tool
	old.profile.mappings[0].build_id = "ab0c";
	old.profile.mappings[0].file_offset = 0;
	old.profile.locations[0].module = UINT32_MAX;
	CHECK(!profile_diff_make(&old.profile, &new.profile, &diff));
	CHECK_EQUAL(diff.profile.sample_count, 0);
	profile_diff_deinit(&diff);
	hand_free(&old);
	hand_free(&new);
}

// Inlined functions are part of what a location is.
static void test_inlined(void)
{
	static const struct hand_sample samples[] = { { "f", 10, 1, 10, 1, 0 }, { "c", 3, 1, 3, 1, 0 } };
	struct hand_profile old, new;
	struct profile_diff diff;
	char text[1000];

	hand_make(&old, service_places, SERVICE_PLACES, samples, 2, 0x10000);
	hand_make(&new, service_places, SERVICE_PLACES, samples, 2, 0x10000);
	new.profile.locations[2].line_count = 3; // put:18 inlined into put:25 into serve:7
	CHECK(!profile_diff_make(&old.profile, &new.profile, &diff));
	write_diff(&diff.profile, text, sizeof(text));
	CHECK_STRING(text, "Cache::put(int):18 3/1 3/1\nCache::put(int):18 -3/-1 -3/-1\n");
	CHECK_EQUAL(diff.profile.locations[diff.profile.frames[0]].line_count, 3);
	CHECK_EQUAL(diff.profile.line_count, 6 + 3 + 1); // those of locations that were there already are not kept
	profile_diff_deinit(&diff);
	hand_free(&old);
	hand_free(&new);
}

static const struct {
	int32_t old_pid, new_pid;
	int64_t old_time, old_duration, new_time, new_duration; // seconds
	bool of_one, of_two;
} attaches[] = {
	{ 7, 7, 1000, 10, 1060, 70, true, false }, { 7, 7, 1000, 10, 1062, 70, true, false },
	{ 7, 7, 1000, 10, 1063, 70, false, true }, { 7, 7, 1000, 10, 1057, 70, false, true },
	{ 7, 8, 1000, 10, 1060, 70, false, true }, { 0, 8, 1000, 10, 1060, 70, false, false },
	{ 0, 8, 1000, 10, 1063, 70, false, true }, { 7, 7, 1000, 0, 1063, 0, false, false },
	{ 7, 7, 0, 10, 1063, 70, false, false },
};

static void test_facts(void)
{
	struct ledger_line old_lines[] = { { "lost", "lost: no room", 5, false, false },
					   { "fact", "one", 1, false, true },
					   { "gone", "gone", 3, true, false } },
			   new_lines[] = { { "lost", "lost: no room", 4, true, false },
					   { "fact", "two", 1, false, true } };
	struct heap_profile old = { .period = 1 }, new = { .period = 512, .program = "app", .pid = 3 };
	struct profile_diff diff;

	for (size_t i = 0; i < sizeof(attaches) / sizeof(attaches[0]); i++) {
		struct diff_facts facts;

		old.pid = attaches[i].old_pid;
		new.pid = attaches[i].new_pid;
		old.time_ns = attaches[i].old_time * SECOND;
		old.duration_ns = attaches[i].old_duration * SECOND;
		new.time_ns = attaches[i].new_time *SECOND;
		new.duration_ns = attaches[i].new_duration *SECOND;
		facts = diff_facts_of(&old, &new);
		CHECK_EQUAL(facts.of_one_attach, attaches[i].of_one);
		CHECK_EQUAL(facts.of_two_attaches, attaches[i].of_two);
		CHECK(!facts.old_is_estimate && !facts.new_is_estimate);
	}
	old.time_ns = 1000;
	new.time_ns = 5000;
	new.is_estimate = true;
	old.ledger = old_lines;
	old.ledger_count = 3;
	new.ledger = new_lines;
	new.ledger_count = 2;
	CHECK(!profile_diff_make(&old, &new, &diff));
	CHECK(!diff.facts.old_is_estimate && diff.facts.new_is_estimate);
	CHECK(diff.profile.is_estimate);
	CHECK_EQUAL(diff.profile.duration_ns, 4000);
	CHECK_EQUAL(diff.profile.time_ns, 5000);
	CHECK_EQUAL(diff.profile.period, 512);
	CHECK_EQUAL(diff.profile.interval_most, 512);
	CHECK_EQUAL(diff.profile.pid, 7);
	CHECK_STRING(diff.profile.program, "app");
	CHECK_EQUAL(diff.profile.ledger_count, 4);
	CHECK_EQUAL(diff.profile.ledger[0].value, 5);
	CHECK(diff.profile.ledger[0].is_loss);
	CHECK_STRING(diff.profile.ledger[2].text, "one");
	CHECK_STRING(diff.profile.ledger[3].name, "gone");
	profile_diff_deinit(&diff);

	old.is_estimate = true;
	old.period = 384;
	CHECK(!profile_diff_make(&old, &new, &diff));
	CHECK_EQUAL(diff.profile.interval_most, 640); // both sides of a right angle
	profile_diff_deinit(&diff);
	old.interval_most = INT64_MAX;
	CHECK(!profile_diff_make(&old, &new, &diff));
	CHECK_EQUAL(diff.profile.interval_most, INT64_MAX);
	profile_diff_deinit(&diff);
}

static void test_limits(void)
{
	static const struct hand_sample before[] = { { "c", INT64_MIN, INT64_MAX, 0, 5, 1 } },
					after[] = { { "c", INT64_MAX, INT64_MIN, INT64_MIN, 5, 1 },
						    { "c", 5, -5, -1, 0, 1 } };
	struct hand_profile old, new;
	struct profile_diff diff;

	hand_make(&old, service_places, SERVICE_PLACES, before, 1, 0x10000);
	hand_make(&new, service_places, SERVICE_PLACES, after, 2, 0x10000);
	CHECK(!profile_diff_make(&old.profile, &new.profile, &diff));
	CHECK_EQUAL(diff.profile.sample_count, 1);
	CHECK_EQUAL(diff.profile.samples[0].values.live_bytes, INT64_MAX);
	CHECK_EQUAL(diff.profile.samples[0].values.live_objects, INT64_MIN);
	CHECK_EQUAL(diff.profile.samples[0].values.alloc_bytes, INT64_MIN);
	CHECK_EQUAL(diff.profile.samples[0].values.live_bytes_variance, 3);
	profile_diff_deinit(&diff);
	hand_free(&old);
	hand_free(&new);
}

int main(void)
{
	test_places();
	test_labels();
	test_no_file();
	test_modules();
	test_inlined();
	test_facts();
	test_limits();
	return CHECK_RESULT();
}
