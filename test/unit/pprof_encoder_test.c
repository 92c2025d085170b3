// SPDX-License-Identifier: Apache-2.0
// Writes profiles of known content. What stands in them is checked by pprof_encoder_check.py, which reads them in the
// folder that is named as the only argument; without it only what needs no reader is checked.
#include "check.h"
#include "proto/gzip_file.h"
#include "proto/pprof/pprof_encoder.h"
#include "proto/pprof/pprof_stacks.h"

#include <stdlib.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static char main_file[] = "/usr/bin/program", library_file[] = "/usr/lib/lib\xff.so", no_text[] = "";
static char main_id[] = "0123456789abcdef", library_id[] = "fedcba";
static char program[] = "pro|gram";

static struct profile_mapping mappings[] = {
	{ 0x400000, 0x500000, 0x1000, main_file, main_id, true, true, true, true },
	{ 0x7f0000000000, 0x7f0000100000, 0, library_file, library_id, true, false, false, false },
};

static char malloc_name[] = "malloc", work_name[] = "work(int)", work_mangled[] = "_Z4worki", inner_name[] = "inner";
static char main_name[] = "main", source_file[] = "work.cc", unused_name[] = "unused";

static struct profile_function functions[] = {
	{ unused_name, unused_name, no_text, 0 },    { malloc_name, malloc_name, no_text, 0 },
	{ inner_name, inner_name, source_file, 10 }, { work_name, work_mangled, source_file, 20 },
	{ main_name, main_name, source_file, 30 },
};

static struct profile_line lines[] = {
	{ 1, 0 },             // malloc
	{ 2, 11 }, { 3, 22 }, // inner, inlined into work
	{ 4, 33 },            // main
	{ 0, 1 },             // unused
};

static struct profile_location locations[] = {
	{ 0x400100, 0, 0, 4, 1, false, false, false },       // 0: unused
	{ 0x7f0000000010, 1, 1, 0, 1, true, false, false },  // 1: malloc
	{ 0x7f0000000020, 1, 1, 0, 1, true, false, false },  // 2: malloc again
	{ 0x400200, 0, 0, 1, 2, false, false, false },       // 3: inner in work
	{ 0x400300, 0, 0, 3, 1, false, false, false },       // 4: main
	{ 0x7f0000000030, 1, 1, 0, 0, false, false, false }, // 5: no symbol
};

static uint32_t frames[] = {
	1, 3, 4,    // malloc, work, main
	2, 1, 3, 4, // malloc, malloc, work, main: the same when shown
	3, 4, 1, 4, // an allocator that is not innermost stays
	2, 1,       // nothing but allocator
	5, 4,
	4, // all values 0
};

static struct profile_sample samples[] = {
	{ 0, 3, 0, { 0 }, { 10, 1000, 4, 400, 4, 0, 0, 0 } },
	{ 3, 4, 0, { 0 }, { 1, 100, 1, 100, 1, 0, 0, 0 } },
	{ 7, 4, 0, { 0 }, { 2, 20, 1, 10, 1, 0, 0, 0 } },
	{ 11, 2, 0, { 0 }, { 3, 30, 3, 30, 3, 0, 0, 0 } },
	{ 13, 2, 0, { 0 }, { 1, INT64_C(5000000000), 1, INT64_C(5000000000), 1, 0, 0, 0 } },
	{ 15, 1, 0, { 0 }, { 0, 0, 0, 0, 0, 0, 0, 0 } },
	{ 0, 0, 0, { 0 }, { 1, 7, 1, 7, 1, 0, 0, 0 } },
};

// The same by sampling, some of it with counted samples.
static struct profile_sample sampled[] = {
	{ 0, 3, 0, { 0 }, { 100, 10000, 40, 4000, 4, 9, 2.25, 0 } },
	{ 3, 4, 0, { 0 }, { 10, 1000, 10, 1000, 1, 16, 2, 0 } }, // shown with the first
	{ 0, 3, 1, { 0 }, { 5, 50, 5, 50, 2, 1, 1, 0 } },
	{ 0, 3, 3, { 0 }, { 7, 70, 7, 70, 2, 1, 0, 0 } },
	{ 3, 4, 3, { 0 }, { 1, 10, 1, 10, 1, 3, 0, 0 } }, // shown with the one before
	{ 7, 4, 0, { 0 }, { 2, 20, 0, 0, 0, 0, 0, 0 } },
	{ 0, 0, 0, { 0 }, { 1, 7, 1, 7, 1, 0, 0, 0 } },
	{ 0, 0, 2, { 0 }, { 1, 8, 1, 8, 1, 0, 0, 0 } },
};

static char seen[] = "allocations", seen_text[] = "blocks allocated";
static char lost[] = "stack_cut", lost_text[] = "stacks cut at the depth limit", unlost[] = "table_full";

static struct ledger_line ledger[] = {
	{ seen, seen_text, 18, false, false },
	{ lost, lost_text, 2, true, false },
	{ unlost, lost_text, 0, true, false },
};

static struct heap_profile profile = {
	.mappings = mappings,
	.mapping_count = COUNT(mappings),
	.functions = functions,
	.function_count = COUNT(functions),
	.lines = lines,
	.line_count = COUNT(lines),
	.locations = locations,
	.location_count = COUNT(locations),
	.frames = frames,
	.frame_count = COUNT(frames),
	.samples = samples,
	.sample_count = COUNT(samples),
	.ledger = ledger,
	.ledger_count = COUNT(ledger),
	.time_ns = 1700000000123456789,
	.duration_ns = 5000000000,
	.period = 1,
	.stopped_ns = 1234567,
	.stopped_because = "asked for",
	.pid = 42,
	.program = program,
};

static struct heap_profile sampled_profile(void)
{
	struct heap_profile estimates = profile;

	estimates.samples = sampled;
	estimates.sample_count = COUNT(sampled);
	estimates.period = 4096;
	estimates.is_estimate = true;
	estimates.total.live_records = 12;
	estimates.total.live_objects_variance = 30;
	estimates.total.live_bytes_variance = 5.25;
	return estimates;
}

static void test_stacks(void)
{
	struct pprof_stack *stacks = NULL;
	size_t count = 0;

	CHECK(!pprof_stacks_build(&profile, &stacks, &count));
	CHECK_EQUAL(count, 5);
	CHECK_EQUAL(stacks[0].frame_count, 2);
	CHECK_EQUAL(stacks[0].frames[0], 3);
	CHECK_EQUAL(stacks[0].values.alloc_objects, 11);
	CHECK_EQUAL(stacks[0].values.live_bytes, 500);
	CHECK_EQUAL(stacks[1].frame_count, 4);
	CHECK_EQUAL(stacks[2].frame_count, 1);
	CHECK_EQUAL(stacks[2].frames[0], 1);
	CHECK_EQUAL(stacks[4].frame_count, 0);
	free(stacks);
}

// The sum of two samples that does not fit stays at the largest number.
static void test_overflow(void)
{
	struct profile_sample large[] = { { 0, 3, 0, { 0 }, { INT64_MAX, 1, 0, 0, 0, 0, 0, 0 } },
					  { 0, 3, 0, { 0 }, { 2, 1, 0, 0, 0, 0, 0, 0 } } };
	struct heap_profile two = profile;
	struct pprof_stack *stacks = NULL;
	size_t count = 0;

	two.samples = large;
	two.sample_count = 2;
	CHECK(!pprof_stacks_build(&two, &stacks, &count));
	CHECK_EQUAL(count, 1);
	CHECK_EQUAL(stacks[0].values.alloc_objects, INT64_MAX);
	CHECK_EQUAL(stacks[0].values.alloc_bytes, 2);
	free(stacks);
}

static void test_empty(void)
{
	struct heap_profile empty = { .pid = 1 };
	uint8_t *data = NULL;
	size_t size = 0;

	CHECK(!pprof_encode(&empty, &(struct pprof_options){ .errors = true }, &data, &size));
	CHECK(size > 0);
	free(data);
}

static void write_profile(const struct heap_profile *from, bool errors, const char *folder, const char *name)
{
	struct output_file file;
	uint8_t *data = NULL;
	size_t size = 0;
	uint64_t compressed;
	char path[4096];

	CHECK(!pprof_encode(from,
			    &(struct pprof_options){ .errors = errors, .truth = "Incomplete: 2 stacks end early." },
			    &data, &size));
	CHECK(size > 100);
	if (folder) {
		snprintf(path, sizeof(path), "%s/%s", folder, name);
		CHECK(!output_file_create(path, &file));
		CHECK(!output_file_commit_gzip(&file, data, size, &compressed));
	}
	free(data);
}

int main(int argc, char **argv)
{
	const char *folder = argc > 1 ? argv[1] : NULL;
	const struct heap_profile estimates = sampled_profile();

	test_stacks();
	test_overflow();
	test_empty();
	write_profile(&profile, false, folder, "exact.pb.gz");
	write_profile(&profile, true, folder, "exact_errors.pb.gz");
	write_profile(&estimates, false, folder, "sampled.pb.gz");
	write_profile(&estimates, true, folder, "sampled_errors.pb.gz");
	return CHECK_RESULT();
}
