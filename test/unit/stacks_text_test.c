// SPDX-License-Identifier: Apache-2.0
// Collapsed stacks and JSON of profiles made by hand. Other programs read them in test/readers/.
#include "check.h"
#include "made_named.h"
#include "proto/known_profile.h"
#include "proto/stacks/collapsed.h"
#include "proto/stacks/profile_json.h"
#include "proto/stacks/speedscope_json.h"
#include "proto/stacks/text_report.h"

#include <stdlib.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static char *collapsed_text(const struct made_named *made)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	CHECK(!collapsed_write(&made->named, file));
	CHECK(fclose(file) == 0);
	return text;
}

// Names as they are, and as they are written.
static void test_names(void)
{
	static const struct {
		const char *name, *written;
	} cases[] = {
		{ "main", "main" },
		{ "void f<int>(std::map<int, int>)", "void f<int>(std::map<int, int>)" },
		{ "fn [u8; 32] of it", "fn [u8: 32] of it" },
		{ "[u8; 32]", "[u8: 32]" },
		{ "a; 32", "a:_32" },
		{ "a 1 2", "a 1_2" },
		{ "a 1.5", "a_1.5" },
		{ "a .", "a_." },
		{ "12", "12" },
		{ " 12", "_12" },
		{ "a12", "a12" },
		{ "a ", "a " },
		{ "new\nline 7", "new\\x0aline_7" },
		{ "\xff;\x1b[31m", "\\xff:\\x1b[31m" },
		{ "\xc3\xa9t\xc3\xa9", "\xc3\xa9t\xc3\xa9" },
		{ "", "[unknown]" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct profile_values values = { .live_bytes = 5 };
		struct made_named *made = made_named_create();
		uint32_t place = made_place(made, cases[i].name, NULL, "", 0, "app", FRAME_OWN);
		char expected[100];
		char *text;

		made_sample(made, &place, 1, &values);
		text = collapsed_text(made);
		snprintf(expected, sizeof(expected), "%s 5\n", cases[i].written);
		CHECK_STRING(text, expected);
		free(text);
		made_named_free(made);
	}
}

static struct made_named *make(void)
{
	struct made_named *made = made_named_create();
	const uint32_t put = made_place(made, "put", "shop::put(int)", "leak.cpp", 18, "app", FRAME_OWN);
	const uint32_t start = made_place(made, "main", NULL, "", 0, "app", FRAME_OWN);

	made_sample(made, (const uint32_t[]){ put, start }, 2,
		    &(struct profile_values){ 10, 1000, 4, 400, 4, 0, 0, 0 });
	made_sample(made, (const uint32_t[]){ start }, 1, &(struct profile_values){ 2, 20, 0, 0, 0, 0, 0, 0 });
	made_sample(made, NULL, 0, &(struct profile_values){ 1, 7, 1, 7, 1, 0, 0, 0 });
	made_sample(made, (const uint32_t[]){ put, put, start }, 3,
		    &(struct profile_values){ 0, 0, -1, -100, 0, 0, 0, 0 });
	return made;
}

static void test_stacks(void)
{
	struct made_named *made = make();
	char *text;

	made_sample(made, (const uint32_t[]){ 0, 0 }, 2, &(struct profile_values){ .live_bytes = 3 });
	text = collapsed_text(made);
	CHECK_STRING(text, "main;shop::put(int) 400\nshop::put(int);shop::put(int) 3\n[stack unknown] 7\n");
	free(text);
	made_named_free(made);
}

static const char whole[] =
	"{\"heapsnap\":\"" HEAPSNAP_VERSION
	"\",\"program\":\"a\\\"b\",\"name\":\"a\\\"b\",\"pid\":42,\"time_ns\":1700000000123456789,"
	"\"duration_ns\":5,\"memory\":{\"rss\":9,\"anonymous\":8,\"swapped\":0,\"peak\":10},\"estimate\":false,"
	"\"interval\":1,\"interval_most\":0,\"live_objects\":5,\"live_bytes\":407,\"alloc_objects\":13,"
	"\"alloc_bytes\":1027,\"samples\":5,\"live_objects_error\":0,\"live_bytes_error\":0,\"stack_count\":1,"
	"\"stopped\":false,\"stopped_because\":\"\",\"log_records\":0,\"stacks\":["
	"{\"live_objects\":4,\"live_bytes\":400,\"alloc_objects\":10,\"alloc_bytes\":1000,\"samples\":4,"
	"\"live_objects_error\":0,\"live_bytes_error\":0,\"frames\":["
	"{\"function\":\"shop::put(int)\",\"file\":\"leak.cpp\",\"line\":18,\"module\":\"app\"},"
	"{\"function\":\"main\",\"file\":\"\",\"line\":0,\"module\":\"app\"}]}],\"ledger\":["
	"{\"name\":\"seen\",\"value\":0,\"text\":\"x\",\"loss\":false}]}\n";

static void test_json(void)
{
	struct ledger_line line = { .name = (char[]){ "seen" }, .text = (char[]){ "x" } };
	struct made_named *made = make();
	struct heap_profile *profile = &made->profile;
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	profile->program = (char[]){ "a\"b" };
	profile->pid = 42;
	profile->time_ns = 1700000000123456789;
	profile->duration_ns = 5;
	profile->period = 1;
	profile->memory = (struct profile_memory){ true, 9, 8, 0, 10 };
	profile->total = (struct profile_values){ 13, 1027, 5, 407, 5, 0, 0, 0 };
	profile->sample_count = 1;
	profile->ledger = &line;
	profile->ledger_count = 1;
	CHECK(!profile_json_write(&made->named, NULL, file));
	CHECK(fclose(file) == 0);
	CHECK_STRING(text, whole);
	CHECK(profile_is_known(text, size)); // a new one may replace it
	free(text);
	profile->ledger_count = 0;
	profile->ledger = NULL;
	profile->program = NULL;
	made_named_free(made);
}

static const char report[] = "heapsnap report of a\\x1bb (PID 42), taken 2023-11-14T22:13:20Z\n"
			     "  RSS                9 B  (anonymous 8 B, swapped 0 B, at its peak 10 B)\n"
			     "  recorded           2 s\n"
			     "  live             407 B  in 5 blocks (±49 %)\n"
			     "  allocated      1.0 KiB  in 13 blocks; 514 B/s, 7 blocks/s\n"
			     "  sampled           64 B  the mean interval now\n"
			     "  Incomplete: 3 gone; a fact.\n"
			     "\n"
			     "        live      error       blocks      allocated  site\n"
			     "       400 B                       4         1000 B  shop::put(int)  leak.cpp:18\n"
			     "        < main\n"
			     "      -100 B                      -1            0 B  shop::put(int)  leak.cpp:18\n"
			     "        < put < main\n"
			     "         7 B      ±90 B            1            7 B  [stack unknown]\n"
			     "         0 B                       0           20 B  main\n"
			     "\n"
			     "Ledger (! = something is missing from the profile)\n"
			     "                    12  seen\n"
			     "!                    3  gone\n"
			     "!                       a fact\n";

static void test_report(void)
{
	struct ledger_line lines[] = {
		{ .name = (char[]){ "seen" }, .text = (char[]){ "seen" }, .value = 12 },
		{ .name = (char[]){ "gone" }, .text = (char[]){ "gone" }, .value = 3, .is_loss = true },
		{ .name = (char[]){ "fact" },
		  .text = (char[]){ "a fact" },
		  .value = 1,
		  .is_loss = true,
		  .is_fact = true },
	};
	struct made_named *made = make();
	struct heap_profile *profile = &made->profile;
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	profile->name = (char[]){ "a\x1b"
				  "b" };
	profile->pid = 42;
	profile->time_ns = 1700000000123456789;
	profile->duration_ns = 2000000000;
	profile->is_estimate = true;
	profile->period = 64;
	profile->memory = (struct profile_memory){ true, 9, 8, 0, 10 };
	profile->total = (struct profile_values){ 13, 1027, 5, 407, 5, 0, 200.0 * 200, 0 };
	profile->ledger = lines;
	profile->ledger_count = COUNT(lines);
	profile->samples[2].values.live_bytes_variance = 90 * 90;
	CHECK(!text_report_write(&made->named, file));
	CHECK(fclose(file) == 0);
	CHECK_STRING(text, report);
	CHECK(profile_is_known(text, size)); // a new one may replace it
	free(text);
	profile->ledger_count = 0;
	profile->ledger = NULL;
	profile->name = NULL;
	made_named_free(made);
}

static const char scope[] =
	"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":\"heapsnap " HEAPSNAP_VERSION
	"\",\"name\":\"unknown program (PID 0)\",\"activeProfileIndex\":0,\"shared\":{\"frames\":["
	"{\"name\":\"shop::put(int)\",\"file\":\"leak.cpp\",\"line\":18},{\"name\":\"main\"},{\"name\":\"[stack unknown]\"}]},"
	"\"profiles\":["
	"{\"type\":\"sampled\",\"name\":\"live bytes\",\"unit\":\"bytes\",\"samples\":[[1,0],[2]],\"weights\":[400,7],"
	"\"startValue\":0,\"endValue\":407},"
	"{\"type\":\"sampled\",\"name\":\"live blocks\",\"unit\":\"none\",\"samples\":[[1,0],[2]],\"weights\":[4,1],"
	"\"startValue\":0,\"endValue\":5},"
	"{\"type\":\"sampled\",\"name\":\"bytes allocated since attach\",\"unit\":\"bytes\",\"samples\":[[1,0],[1],[2]],"
	"\"weights\":[1000,20,7],\"startValue\":0,\"endValue\":1027},"
	"{\"type\":\"sampled\",\"name\":\"blocks allocated since attach\",\"unit\":\"none\",\"samples\":[[1,0],[1],[2]],"
	"\"weights\":[10,2,1],\"startValue\":0,\"endValue\":13}]}\n";

static void test_speedscope(void)
{
	struct made_named *made = make();
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	CHECK(!speedscope_json_write(&made->named, file));
	CHECK(fclose(file) == 0);
	CHECK_STRING(text, scope);
	CHECK(profile_is_known(text, size));
	free(text);
	made_named_free(made);
}

int main(void)
{
	test_speedscope();
	test_report();
	test_names();
	test_stacks();
	test_json();
	return CHECK_RESULT();
}
