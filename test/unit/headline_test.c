// SPDX-License-Identifier: Apache-2.0
// What stands before and after the rows (cli/headline.c), of profiles made by hand.
#include "captured.h"
#include "check.h"

#include "../../cli/headline.c"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MIB          (INT64_C(1) << 20)

static const struct options plain = { .quiet = false }, quiet = { .quiet = true }, with_ledger = { .ledger = true };

static void check_headline(const struct heap_profile *profile, const char *expected)
{
	capture_begin();
	headline_print(&plain, profile);
	capture_end();
	CHECK_STRING(captured_output(), expected);
	capture_begin();
	headline_print(&quiet, profile);
	capture_end();
	CHECK_STRING(captured_output(), "");
}

// A small number of recorded bytes is not read as "no problem".
static void test_headlines(void)
{
	struct heap_profile profile = {
		.memory = { true, 398 * MIB, 391 * MIB, 0 },
		.total = { .live_bytes = 4096, .live_objects = 1 },
		.duration_ns = 3000000000,
	};

	check_headline(&profile,
		       "Process RSS 398.0 MiB (anonymous 391.0 MiB)\n"
		       "  recorded live    4.0 KiB  in 1 block, allocated since attach (3 s ago)\n"
		       "  not recorded   391.0 MiB  older than the attach, freed but kept by malloc, or mapped\n");
	profile.peak_looks = 210;
	check_headline(&profile,
		       "Process RSS 398.0 MiB (anonymous 391.0 MiB)\n"
		       "  recorded live    4.0 KiB  in 1 block, the most of 210 looks, 3 s after the attach\n"
		       "  not recorded   391.0 MiB  older than the attach, freed but kept by malloc, or mapped\n");
	profile.peak_looks = 0;
	profile.memory.swapped = 9 * MIB;
	profile.total = (struct profile_values){ .live_bytes = 500 * MIB, .live_objects = 12345 };
	check_headline(
		&profile,
		"Process RSS 398.0 MiB (anonymous 391.0 MiB; swapped out 9.0 MiB)\n"
		"  recorded live  500.0 MiB  in 12,345 blocks, allocated since attach (3 s ago)\n"
		"  not recorded           ?  more is recorded than is resident: not all of it has been written to\n");
	profile.memory.is_known = false; // of a file
	profile.program = (char[]){ "/usr/sbin/nginx" };
	profile.pid = 7;
	profile.time_ns = INT64_C(1700000000000000000);
	check_headline(&profile, "Profile of nginx (PID 7), taken 2023-11-14T22:13:20Z\n"
				 "  recorded live  500.0 MiB  in 12,345 blocks, allocated since attach (3 s before)\n");
	profile.name = (char[]){ "nginx: worker" };
	check_headline(&profile, "Profile of nginx: worker (PID 7), taken 2023-11-14T22:13:20Z\n"
				 "  recorded live  500.0 MiB  in 12,345 blocks, allocated since attach (3 s before)\n");
	check_headline(&(struct heap_profile){ .pid = 0 },
		       "Profile of an unknown program\n  recorded live        0 B  in 0 blocks\n");
}

// The kernel keeps 15 bytes of a name. What is the file's own name is none of the process.
static void test_own_names(void)
{
	static const struct {
		const char *program, *name;
		bool is_own;
	} cases[] = {
		{ "/usr/bin/redis-check-rdb", "redis-server", true },
		{ "/usr/bin/redis-server", "redis-server", false },
		{ "/usr/bin/a_name_of_more_than_15", "a_name_of_more_", false },
		{ "/usr/bin/a_name_of_more_than_15", "a_name_of_mor", true },
		{ "/usr/bin/python3.11", "python3", true },
		{ "/usr/bin/python3.11", "", false },
		{ "nginx", "nginx", false },
		{ NULL, "nginx", true },
		{ "/usr/bin/", "nginx", true },
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		CHECK_EQUAL(profile_has_own_name(cases[i].program, cases[i].name), cases[i].is_own);
	CHECK_STRING(profile_process_name(&(struct heap_profile){ .pid = 1 }), "");
	CHECK_STRING(
		profile_process_name(&(struct heap_profile){ .program = (char[]){ "a/b" }, .name = (char[]){ "" } }),
		"b");
}

// Numbers below 0 are not huge ones.
static void test_difference(void)
{
	struct heap_profile profile = {
		.is_difference = true,
		.program = (char[]){ "/usr/sbin/nginx" },
		.pid = 7,
		.time_ns = INT64_C(1700000000000000000),
		.duration_ns = 30000000000,
		.total = { .live_bytes = -3 * MIB, .live_objects = -12345 },
	};

	check_headline(&profile,
		       "Difference of two profiles of nginx (PID 7), the later one taken 2023-11-14T22:13:20Z\n"
		       "  recorded live   -3.0 MiB  in -12,345 blocks, within 30 s\n");
	profile.total = (struct profile_values){ .live_bytes = 3 * MIB, .live_objects = 1 };
	profile.duration_ns = profile.time_ns = 0;
	check_headline(&profile, "Difference of two profiles of nginx (PID 7)\n"
				 "  recorded live   +3.0 MiB  in +1 block\n");
}

static struct ledger_line ledger[] = {
	{ (char[]){ "first" }, (char[]){ "seen first" }, 10, false, false },
	{ (char[]){ "lost" }, (char[]){ "lost one way" }, 3, true, false },
	{ (char[]){ "unlost" }, (char[]){ "lost no way" }, 0, true, false },
	{ (char[]){ "second" }, (char[]){ "seen second" }, 20, false, false },
	{ (char[]){ "unseen" }, (char[]){ "not seen" }, 0, false, false },
	{ (char[]){ "so" }, (char[]){ "it is so" }, 1, false, true },
	{ (char[]){ "lost_too" }, (char[]){ "lost another way" }, 4, true, false },
};

static void check_truth(const struct options *options, const struct heap_profile *profile, const char *expected)
{
	capture_begin();
	truth_print(options, profile);
	capture_end();
	CHECK_STRING(captured_output(), expected);
}

// What is missing from the profile is the first thing that is read of it. What is nothing is not shown.
static void test_truth(void)
{
	struct heap_profile profile = { .ledger = ledger, .ledger_count = COUNT(ledger) };

	check_truth(&plain, &profile, "Incomplete: 3 lost one way; 4 lost another way. --ledger for all counters.\n");
	check_truth(
		&with_ledger, &profile,
		"Incomplete: 3 lost one way; 4 lost another way.\n"
		"ledger:\n  LOSS            3  lost one way\n  LOSS            4  lost another way\n"
		"                 10  seen first\n                 20  seen second\n                     it is so\n");
	check_truth(&quiet, &profile, "");
	check_truth(&plain,
		    &(struct heap_profile){
			    .ledger = &(struct ledger_line){ (char[]){ "symbols_missing" },
							     (char[]){ "code without symbols: 3 places in libx.so" }, 1,
							     false, true },
			    .ledger_count = 1 },
		    "Nothing lost.\nCode without symbols: 3 places in libx.so.\n");
	check_truth(&plain, &(struct heap_profile){ .pid = 1 }, "Nothing lost.\n");
	check_truth(&plain, &(struct heap_profile){ .is_foreign = true },
		    "What is missing is not known: the file is another program's.\n");
}

static void test_estimates(void)
{
	struct heap_profile profile = {
		.pid = 42,
		.memory = { .is_known = true },
		.is_estimate = true,
		.period = 65536,
		.total = { .live_bytes = 20 * MIB, .live_records = 1, .live_bytes_variance = 1e12 },
	};

	check_truth(&plain, &profile,
		    "Estimates (±4.8 % of all live bytes, from 1 recorded block); now 1 sample every 64.0 KiB.\n"
		    "For exact numbers from now on: heapsnap set 42 --exact\nNothing lost.\n");
	profile.period = 1;
	profile.total.live_records = 12345;
	check_truth(
		&plain, &profile,
		"Estimates (±4.8 % of all live bytes, from 12,345 recorded blocks); now every allocation is recorded.\n"
		"Nothing lost.\n");
	profile.is_difference = true;
	profile.period = 65536;
	check_truth(&plain, &profile,
		    "Estimates (±976.6 KiB of all live bytes, as if the two were independent).\nNothing lost.\n");
	profile.is_difference = false;
	profile.period = 1;
	profile.is_stopped = true;
	check_truth(&plain, &profile,
		    "Estimates (±4.8 % of all live bytes, from 12,345 recorded blocks); nothing new is recorded now.\n"
		    "Nothing lost.\n");
}

// What stands for nothing else has no error; what no sample fell into is said beside it.
static void test_exact(void)
{
	struct profile_sample samples[] = { { .values = { .live_bytes = 5, .live_objects = 1 } },
					    { .values = { .live_bytes = 90000, .live_objects = 3 } } };
	struct heap_profile profile = {
		.samples = samples,
		.sample_count = COUNT(samples),
		.is_estimate = true,
		.period = 1,
		.interval_most = 4096,
		.total = { .live_bytes = 90005, .live_objects = 4, .live_records = 4 },
	};

	check_truth(&plain, &profile,
		    "Recorded exactly; about 4.0 KiB more may be live (≥), of which no sample was taken; now every "
		    "allocation is recorded.\nNothing lost.\n");
	check_truth(
		&(struct options){ .command = COMMAND_WHY }, &profile,
		"Recorded exactly; about 4.0 KiB more may be live, of which no sample was taken; now every allocation "
		"is recorded.\nNothing lost.\n");
	samples[1].values.live_bytes_variance = samples[1].values.live_objects_variance = 81e6;
	profile.total.live_bytes_variance = profile.total.live_objects_variance = 81e6;
	profile.total.live_records = 0; // not known
	check_truth(
		&plain, &profile,
		"Estimates (±10 % of all live bytes); now every allocation is recorded.\n"
		"≥: recorded exactly; about 4.0 KiB more may be live, of which no sample was taken.\nNothing lost.\n");
	samples[0].values = (struct profile_values){ .alloc_bytes = 5 };
	check_truth(&plain, &profile,
		    "Estimates (±10 % of all live bytes); now every allocation is recorded.\nNothing lost.\n");
	profile.total = (struct profile_values){ .alloc_bytes = 5 };
	check_truth(
		&plain, &profile,
		"None of the recorded blocks is live; about 4.0 KiB may be, of which no sample was taken; now every "
		"allocation is recorded.\nNothing lost.\n");
	profile.selection = (char[]){ "older than 1 s" };
	check_truth(&plain, &profile,
		    "None of the recorded blocks is selected; about 4.0 KiB may be, of which no sample was taken; now "
		    "every allocation is recorded.\nNothing lost.\n");
	profile.selection = NULL;
	profile.is_difference = true;
	profile.total.live_bytes = -90000;
	check_truth(&plain, &profile,
		    "Recorded exactly; what was not recorded may differ by about 4.0 KiB.\nNothing lost.\n");
}

int main(void)
{
	test_headlines();
	test_own_names();
	test_difference();
	test_truth();
	test_estimates();
	test_exact();
	return CHECK_RESULT();
}
