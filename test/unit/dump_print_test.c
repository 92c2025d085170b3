// SPDX-License-Identifier: Apache-2.0
// What a dump prints (cli/dump.c), of results made by hand.
#include "captured.h"
#include "check.h"

#include "../../cli/dump.c"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct ledger_line ledger[] = {
	{ (char[]){ "first" }, (char[]){ "seen first" }, 10, false, false },
	{ (char[]){ "lost" }, (char[]){ "lost one way" }, 3, true, false },
	{ (char[]){ "unlost" }, (char[]){ "lost no way" }, 0, true, false },
	{ (char[]){ "second" }, (char[]){ "seen second" }, 20, false, false },
	{ (char[]){ "unseen" }, (char[]){ "not seen" }, 0, false, false },
	{ (char[]){ "so" }, (char[]){ "it is so" }, 1, false, true },
	{ (char[]){ "lost_too" }, (char[]){ "lost another way" }, 4, true, false },
};

// What is missing from the profile is the first thing that is read of it. What is nothing is not shown.
static void test_ledger(void)
{
	const struct heap_profile profile = { .ledger = ledger, .ledger_count = COUNT(ledger) };
	const struct options options = { .quiet = false }, quiet = { .quiet = true };

	capture_begin();
	print_ledger(&options, &profile);
	capture_end();
	CHECK_STRING(
		captured_errors(),
		"ledger:\n  LOSS            3  lost one way\n  LOSS            4  lost another way\n"
		"                 10  seen first\n                 20  seen second\n                     it is so\n");
	capture_begin();
	print_ledger(&quiet, &profile);
	capture_end();
	CHECK_STRING(captured_errors(), "");
}

// A percentage, where the error is not above the value; never 0.
static void test_errors(void)
{
	static const struct {
		int64_t value;
		uint64_t error;
		const char *text;
	} cases[] = {
		{ 1000, 0, "<0.1 %" },
		{ 100000, 49, "<0.1 %" },
		{ 100000, 51, "0.1 %" },
		{ 1000, 99, "9.9 %" },
		{ 1000, 100, "10 %" },
		{ 1000, 1000, "100 %" },
		{ 1000, 1001, "1001 B" },
		{ 1000, 9000, "8.8 KiB" },
		{ 0, 2048, "2.0 KiB" },
		{ -5, 7, "7 B" },
		{ INT64_MAX, UINT64_MAX, "16384.0 PiB" },
	};
	char buffer[32];

	for (unsigned i = 0; i < COUNT(cases); i++)
		CHECK_STRING(error_text(cases[i].value, cases[i].error, buffer), cases[i].text);
}

static void test_way(void)
{
	const struct options options = { .quiet = false };
	struct hs_dump_result result = { .profile = { .stopped_because = "asked for" },
					 .stopped_ns = 12340000,
					 .copy_ns = 2000000 };

	capture_begin();
	print_copying(&options, &result);
	capture_end();
	CHECK_STRING(captured_errors(), "threads stopped for 12.3 ms: asked for\n");
	result.profile = (struct heap_profile){ .copies = 2, .log_records = 5 };
	capture_begin();
	print_copying(&options, &result);
	capture_end();
	CHECK_STRING(captured_errors(),
		     "no pause; copied concurrently in 2.0 ms, with 5 log records; the log of a first copy got full\n");
}

// What there is one of has no plural.
static void test_counts(void)
{
	const struct options options = { .output = "out" };
	const struct hs_dump_result none = { .profile = { .is_estimate = true } },
				    one = { .profile = { .is_estimate = true,
							 .total.live_objects = 1,
							 .total.live_records = 1,
							 .sample_count = 1,
							 .log_records = 1 } };

	capture_begin();
	print_summary(&options, &none);
	capture_end();
	CHECK(strstr(captured_errors(), "in 0 blocks, of") && strstr(captured_errors(), "from 0 recorded blocks;") &&
	      strstr(captured_errors(), "from 0 stacks;") && strstr(captured_errors(), "with 0 log records\n"));
	capture_begin();
	print_summary(&options, &one);
	capture_end();
	CHECK(strstr(captured_errors(), "in 1 block, of") && strstr(captured_errors(), "from 1 recorded block;") &&
	      strstr(captured_errors(), "from 1 stack;") && strstr(captured_errors(), "with 1 log record\n"));
}

int main(void)
{
	test_ledger();
	test_errors();
	test_way();
	test_counts();
	return CHECK_RESULT();
}
