// SPDX-License-Identifier: Apache-2.0
// What we write into a profile is read back: comments, labels, and a whole one.
#include "check.h"
#include "made_pprof.h"
#include "proto/pprof/pprof_encoder.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct {
	const char *comments; // strings
	int count;
	struct heap_profile expected;
} commented[] = {
	{ "6'program: red is' 6'pid: 42' 6'stopped_ns: 0 (no thread was stopped for the snapshot; log_records: 17)'",
	  3,
	  { .program = (char[]){ "red is" }, .pid = 42, .log_records = 17 } },
	{ "6'stopped_ns: 1500 (the process was stopped for the snapshot: asked for)'",
	  1,
	  { .program = (char[]){ "unknown" }, .stopped_ns = 1500, .stopped_because = "asked for" } },
	{ "6'stopped_ns: 1500 (the process was stopped for the snapshot: no room)'",
	  1,
	  { .program = (char[]){ "unknown" },
	    .stopped_ns = 1500,
	    .stopped_because = "for the reason that its file says" } },
	{ "6'sampling_interval: 4096 (x)' 6'sampling_interval_most: 8192 (x)' 6'samples: 12 (x)' "
	  "6'inuse_objects_error: 3 (x)' 6'inuse_space_error: 9000 (x)'",
	  5,
	  { .program = (char[]){ "unknown" },
	    .is_estimate = true,
	    .interval_most = 8192,
	    .total = { .live_records = 12, .live_objects_variance = 9, .live_bytes_variance = 81e6 } } },
	// numbers that are none or too large, and what only seems to be a comment of ours
	{ "6'pid: x' 6'pid:5' 6'sampling_interval: ' 6'pids: 5' 6'pid: -5' 6'pid: 99999999999'",
	  6,
	  { .program = (char[]){ "unknown" } } },
	{ "6'sampling_interval_most: 99999999999999999999' 6'samples: 18446744073709551616'",
	  2,
	  { .program = (char[]){ "unknown" } } },
	{ "6'difference: 1 (x)' 6'pid: 3'", 2, { .program = (char[]){ "unknown" }, .pid = 3, .is_difference = true } },
	{ "6'difference: 0 (x)' 6'difference: x'", 2, { .program = (char[]){ "unknown" } } },
	{ "6'pid: 1' 6'pid: 2 (text)' 6'program: a' 6'program: b'", 4, { .program = (char[]){ "a" }, .pid = 1 } },
	{ "6'program: a | pid: 5'", 1, { .program = (char[]){ "a | pid: 5" } } },
	{ "6'program: a' 6'name: b\\' 6'name: c'", 3, { .program = (char[]){ "a" }, .name = (char[]){ "b\\" } } },
	// packed
	{ "6'#process: program: a || pid: 5|| | pid: 42 | time: x | stopped_ns: 7 (asked for) | pid: 43'",
	  1,
	  { .program = (char[]){ "a | pid: 5|" }, .pid = 42, .stopped_ns = 7, .stopped_because = "asked for" } },
	{ "6'#process: sampling_interval: 4096 (x) | sampling_interval_most: 8192 (x) | samples: 12 (x) | "
	  "inuse_objects_error: 3 (x) | inuse_space_error: 9000 (x) | lost: 5 (x)'",
	  1,
	  { .program = (char[]){ "unknown" },
	    .is_estimate = true,
	    .interval_most = 8192,
	    .total = { .live_records = 12, .live_objects_variance = 9, .live_bytes_variance = 81e6 } } },
	{ "6'#process: ' 6'#process: |' 6'#process: || | pid |  | pid: 3' 6'#ledger: pid: 5' 6'#pid: 5' 6'#'",
	  6,
	  { .program = (char[]){ "unknown" }, .pid = 3 } },
};

static void test_comments(void)
{
	for (size_t i = 0; i < COUNT(commented); i++) {
		const struct heap_profile *expected = &commented[i].expected;
		struct heap_profile profile;

		message.size = 0;
		made_message_add(&message, TYPE TEXTS "6'heapsnap: 0.1' 13=7");
		made_message_add(&message, commented[i].comments);
		for (int comment = 0; comment < commented[i].count; comment++)
			made_bytes(&message, (const uint8_t[]){ 13 << 3, (uint8_t)(8 + comment) }, 2);
		must(pprof_decode(message.data, message.size, &profile));
		CHECK(!profile.is_foreign);
		CHECK_STRING(profile.program, expected->program);
		CHECK_STRING(profile.name ? profile.name : "none", expected->name ? expected->name : "none");
		CHECK_EQUAL(profile.pid, expected->pid);
		CHECK_EQUAL(profile.log_records, expected->log_records);
		CHECK_EQUAL(profile.stopped_ns, expected->stopped_ns);
		CHECK_STRING(profile.stopped_because ? profile.stopped_because : "none",
			     expected->stopped_because ? expected->stopped_because : "none");
		CHECK_EQUAL(profile.is_estimate, expected->is_estimate);
		CHECK_EQUAL(profile.is_difference, expected->is_difference);
		CHECK_EQUAL(profile.interval_most, expected->interval_most);
		CHECK_EQUAL(profile.total.live_records, expected->total.live_records);
		CHECK_EQUAL(profile.total.live_objects_variance, expected->total.live_objects_variance);
		CHECK_EQUAL(profile.total.live_bytes_variance, expected->total.live_bytes_variance);
		CHECK_EQUAL(profile.ledger_count, 0);
		heap_profile_deinit(&profile);
	}
}

static void check_ledger(const char *text)
{
	struct heap_profile profile;

	must(decode(text, &profile));
	CHECK_EQUAL(profile.ledger_count, 2);
	CHECK_STRING(profile.ledger[0].name, "cut");
	CHECK_STRING(profile.ledger[0].text, "stacks: cut (at 5|)");
	CHECK_EQUAL(profile.ledger[0].value, 7);
	CHECK(profile.ledger[0].is_loss && !profile.ledger[0].is_fact);
	CHECK_STRING(profile.ledger[1].name, "seen");
	CHECK_STRING(profile.ledger[1].text, "\\x1b");
	CHECK(!profile.ledger[1].is_loss);
	heap_profile_deinit(&profile);
}

static void test_ledger(void)
{
	check_ledger(TYPE TEXTS
		     "6'heapsnap: 1' 6'LOSS: cut: 7 (stacks: cut (at 5|))' 6'seen: 0 (\033)' 6'no: 5' 6'no: (5)' "
		     "6'no: 5 (' 6': 5 (no)' 6'no: 18446744073709551616 (x)' 6'no: 5 (x) ' 6'no (x)' "
		     "13[7 8 9 10 11 12 13 14 15 16]");
	check_ledger(TYPE TEXTS "6'heapsnap: 1' 6'#ledger: LOSS: cut: 7 (stacks: cut (at 5||)) | no: 5 |  | no: 5 (|no "
				"| seen: 0 (\033) | no: 5 (x)  | no: 5 (x)| | no  (x) | no(x)' 13[7 8]");
}

// Strings 0 to 17 of a profile of ours, of estimates with an interval of 100 bytes.
#define OURS                                                                                                           \
	TYPE TEXTS "11{1=1 2=2} 12=100 6'heapsnap: 1' 6'sampling_interval: 100 (x)' 6:n_samples 6:samples "            \
		   "6:inuse_objects_error 6:inuse_space_error 6'inuse_objects_error: 20 (x)' "                         \
		   "6'inuse_space_error: 400 (x)' 13[7 8] "

static const struct {
	const char *message;
	struct profile_sample samples[2];
	double total_bytes_variance;
} labelled[] = {
	// all labels: those above the interval are squared, the one at it is at most 30 bytes * 100
	{ OURS "2{2=5000 3{1=9 3=3 4=2} 3{1=10 3=7} 3{1=11 3=90} 3{1=12 3=300}} 2{2=30 3{1=11 3=90} 3{1=12 3=100}}",
	  { { .samples_per_block = 3,
	      .values = { .live_bytes = 5000, .live_records = 7, .live_bytes_variance = 90000 } },
	    { .values = { .live_bytes = 30, .live_bytes_variance = 3000 } } },
	  93000 },
	// none, and the total's: shared by bytes
	{ OURS "13[13 14] 2{2=300} 2{2=-100}",
	  { { .values = { .live_bytes = 300, .live_bytes_variance = 120000 } },
	    { .values = { .live_bytes = -100, .live_bytes_variance = 40000 } } },
	  160000 },
	// none, and no total's
	{ OURS "2{2=300} 2{2=100}",
	  { { .values = { .live_bytes = 300, .live_bytes_variance = 30000 } },
	    { .values = { .live_bytes = 100, .live_bytes_variance = 10000 } } },
	  40000 },
	// numbers that none of ours are
	{ OURS "2{2=5000 3{1=9 3=-3} 3{1=10 3=-7} 3{1=11 3=-1} 3{1=12 3=-1}} 2{2=0 3{1=9 3=99999999999} 3{1=11 3=1} "
	       "3{1=12 3=0x7fffffffffffffff}}",
	  { { .values = { .live_bytes = 5000 } },
	    { .samples_per_block = UINT32_MAX, .values = { .live_bytes_variance = 0x1p100 } } },
	  0x1p100 },
};

static void test_labels(void)
{
	for (size_t i = 0; i < COUNT(labelled); i++) {
		struct heap_profile profile;

		must(decode(labelled[i].message, &profile));
		CHECK_EQUAL(profile.sample_count, 2);
		CHECK(profile.total.live_bytes_variance == labelled[i].total_bytes_variance);
		for (size_t j = 0; j < 2 && j < profile.sample_count; j++) {
			const struct profile_sample *sample = &profile.samples[j], *expected = &labelled[i].samples[j];

			CHECK_EQUAL(sample->samples_per_block, expected->samples_per_block);
			CHECK_EQUAL(sample->values.live_bytes, expected->values.live_bytes);
			CHECK_EQUAL(sample->values.live_records, expected->values.live_records);
			CHECK(sample->values.live_bytes_variance == expected->values.live_bytes_variance);
		}
		heap_profile_deinit(&profile);
	}
}

// What our encoder writes comes back, and is written the same way again.

static char app[] = "/usr/bin/app", libc[] = "/lib/libc.so.6", no_text[] = "", id[] = "0123456789abcdef",
	    name[] = "a | pid: 7 ||";
static char own_name[] = "wor | ker: 1";
static char work[] = "work(int)", work_mangled[] = "_Z4worki", inner[] = "inner", source[] = "work.cc";

static struct profile_mapping mappings[] = {
	{ 0x400000, 0x500000, 0x1000, app, id, true, true, true, true },
	{ 0x7f0000000000, 0x7f0000100000, 0, libc, no_text, true, false, false, false },
};
static struct profile_function functions[] = {
	{ inner, inner, source, 10 },
	{ work, work_mangled, source, 20 },
};
static struct profile_line lines[] = { { 0, 11 }, { 1, 22 }, { 1, 0 } };
static struct profile_location locations[] = {
	{ 0x400200, 0, 0, 0, 2, false, false, true },
	{ 0x7f0000000030, 1, 1, 2, 0, false, false, false },
	{ 0x400300, 0, 0, 2, 1, false, false, true },
};
static uint32_t frames[] = { 0, 1, 2, 0 };
static struct profile_sample samples[] = {
	{ 0, 3, 0, { 2, 0, 5, 3, 1, 2 }, { 10, 1000, 4, 40000, 4, 2500, 25e6, 5 } },
	{ 3, 1, 2, { 1, UINT32_MAX, 63, 8, 2, 0 }, { 1, 100, 1, 100, 1, 0, 0, 0 } },
	{ 4, 0, 0, { 0 }, { 2, 20, 1, 10, 1, 0, 0, 0 } },
};
static char main_thread[] = "main (1)", worker[] = "w|o: rker (23)", part[] = "older than 10 s | of thread x";
static char *label_texts[] = { main_thread, worker };
static char seen[] = "allocations", seen_text[] = "blocks: (all | these) |", lost[] = "stack_cut",
	    lost_text[] = "stacks cut";
static struct ledger_line ledger[] = { { seen, seen_text, 18, false, false },
				       { lost, lost_text, 2, true, false },
				       { lost, lost_text, 1, true, true },
				       { lost, lost_text, 0, true, false } };
enum { LEDGER_READ = COUNT(ledger) - 1 }; // a line that is 0 is not written

static struct heap_profile ours(bool is_estimate, bool is_difference)
{
	struct heap_profile profile = {
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
		.label_texts = label_texts,
		.label_text_count = COUNT(label_texts),
		.selection = is_difference ? NULL : part,
		.recorded = { .live_objects = 70, .live_bytes = 700000 },
		.undecided = { .live_objects = 3, .live_bytes = 33 },
		.cut = { UINT64_MAX, is_estimate ? UINT32_MAX : 0, UINT64_C(1) << 63 },
		.time_ns = 1700000000123456789,
		.duration_ns = 5000000000,
		.period = is_estimate ? 4096 : 1,
		.is_estimate = is_estimate,
		.peak_looks = is_estimate ? UINT64_MAX : 0,
		.is_difference = is_difference,
		.has_temporaries = !is_difference,
		.interval_most = is_estimate ? 8192 : 0,
		.stopped_ns = 1234567,
		.stopped_because = "asked for",
		.pid = 42,
		.program = name,
		.name = is_estimate ? own_name : NULL,
		.total = { 13, 1120, 6, 40110, 6, is_estimate ? 3600 : 0, is_estimate ? 26e6 : 0 },
	};

	return profile;
}

static void check_samples(const struct heap_profile *read)
{
	CHECK_EQUAL(read->sample_count, COUNT(samples));
	for (size_t i = 0; i < COUNT(samples) && i < read->sample_count; i++) {
		const struct profile_sample *a = &read->samples[i], *b = &samples[i];

		CHECK_EQUAL(a->frame_count, b->frame_count);
		CHECK_EQUAL(a->samples_per_block, b->samples_per_block);
		CHECK_STRING(a->labels.thread ? read->label_texts[a->labels.thread - 1] : "",
			     b->labels.thread ? label_texts[b->labels.thread - 1] : "");
		CHECK_STRING(a->labels.kind ? read->label_texts[a->labels.kind - 1] : "",
			     b->labels.kind ? label_texts[b->labels.kind - 1] : "");
		CHECK_STRING(a->labels.allocator ? read->label_texts[a->labels.allocator - 1] : "",
			     b->labels.allocator ? label_texts[b->labels.allocator - 1] : "");
		CHECK_EQUAL(a->labels.epoch, b->labels.epoch);
		CHECK_EQUAL(a->labels.size, b->labels.size);
		CHECK_EQUAL(a->labels.age, b->labels.age);
		CHECK_EQUAL(a->values.alloc_objects, b->values.alloc_objects);
		CHECK_EQUAL(a->values.temporary_objects, read->has_temporaries ? b->values.temporary_objects : 0);
		CHECK_EQUAL(a->values.alloc_bytes, b->values.alloc_bytes);
		CHECK_EQUAL(a->values.live_objects, b->values.live_objects);
		CHECK_EQUAL(a->values.live_bytes, b->values.live_bytes);
		CHECK_EQUAL(a->values.live_records, b->values.live_records);
		for (uint32_t j = 0; j < a->frame_count && a->frame_count == b->frame_count; j++)
			CHECK_EQUAL(read->frames[a->first_frame + j], frames[b->first_frame + j]);
	}
}

static void check_code(const struct heap_profile *read)
{
	CHECK_EQUAL(read->mapping_count, COUNT(mappings));
	CHECK_EQUAL(read->mappings[0].start, mappings[0].start);
	CHECK_EQUAL(read->mappings[0].limit, mappings[0].limit);
	CHECK_EQUAL(read->mappings[0].file_offset, mappings[0].file_offset);
	CHECK_STRING(read->mappings[0].file, app);
	CHECK_STRING(read->mappings[0].build_id, id);
	CHECK(read->mappings[1].has_functions && !read->mappings[1].has_filenames);
	CHECK_EQUAL(read->module_count, 2);
	CHECK_EQUAL(read->location_count, COUNT(locations) + 1); // that of the unknown stack
	for (size_t i = 0; i < COUNT(locations); i++) {
		const struct profile_location *a = &read->locations[i], *b = &locations[i];

		CHECK_EQUAL(a->address, b->address);
		CHECK_EQUAL(a->mapping, b->mapping);
		CHECK_EQUAL(a->module, b->module);
		CHECK_EQUAL(a->line_count, b->line_count);
		CHECK_EQUAL(a->first_line, b->first_line);
		CHECK_EQUAL(a->is_wrapper, b->is_wrapper);
	}
	CHECK_EQUAL(read->function_count, COUNT(functions) + 1); // that of the unknown stack
	CHECK_STRING(read->functions[1].name, work);
	CHECK_STRING(read->functions[1].system_name, work_mangled);
	CHECK_STRING(read->functions[1].file, source);
	CHECK_EQUAL(read->functions[1].start_line, 20);
	CHECK_EQUAL(read->lines[1].function, 1);
	CHECK_EQUAL(read->lines[1].line, 22);
}

static void check_header(const struct heap_profile *read, const struct heap_profile *written)
{
	CHECK(!read->is_foreign);
	CHECK_EQUAL(read->is_estimate, written->is_estimate);
	CHECK_EQUAL(read->is_difference, written->is_difference);
	CHECK_EQUAL(read->has_temporaries, written->has_temporaries);
	CHECK_EQUAL(read->time_ns, written->time_ns);
	CHECK_EQUAL(read->duration_ns, written->duration_ns);
	CHECK_EQUAL(read->peak_looks, written->peak_looks);
	CHECK_EQUAL(read->period, written->period);
	CHECK_EQUAL(read->interval_most, written->interval_most);
	CHECK_EQUAL(read->stopped_ns, written->stopped_ns);
	CHECK_EQUAL(read->pid, written->pid);
	CHECK_STRING(read->program, name);
	CHECK_STRING(read->name ? read->name : "none", written->name ? written->name : "none");
	CHECK_EQUAL(read->total.live_bytes, written->total.live_bytes);
	CHECK_EQUAL(read->total.live_objects, written->total.live_objects);
	CHECK_EQUAL(read->total.alloc_bytes, written->total.alloc_bytes);
	CHECK_EQUAL(read->total.live_records, written->total.live_records);
	CHECK_EQUAL(read->ledger_count, LEDGER_READ);
	for (size_t i = 0; i < LEDGER_READ && i < read->ledger_count; i++) {
		CHECK_STRING(read->ledger[i].name, ledger[i].name);
		CHECK_STRING(read->ledger[i].text, ledger[i].text);
		CHECK_EQUAL(read->ledger[i].value, ledger[i].value);
		CHECK_EQUAL(read->ledger[i].is_loss, ledger[i].is_loss);
		CHECK_EQUAL(read->ledger[i].is_fact, ledger[i].is_fact);
	}
}

// Values below 0 alone say so, too.
static void test_difference(void)
{
	struct heap_profile profile;

	must(decode(TYPE TEXTS "2{2=100}", &profile));
	CHECK(!profile.is_difference);
	heap_profile_deinit(&profile);
	must(decode(TYPE TEXTS "2{2=100} 2{2=-1}", &profile));
	CHECK(profile.is_difference && profile.is_foreign);
	CHECK_EQUAL(profile.total.live_bytes, 99);
	heap_profile_deinit(&profile);
}

static void check_part(const struct heap_profile *read, const struct heap_profile *written)
{
	const bool has_cut = !written->is_difference;

	CHECK_EQUAL(read->cut.session, has_cut ? written->cut.session : 0);
	CHECK_EQUAL(read->cut.epoch, has_cut ? written->cut.epoch : 0);
	CHECK_EQUAL(read->cut.ticks, has_cut ? written->cut.ticks : 0);
	CHECK_STRING(read->selection ? read->selection : "all", written->selection ? written->selection : "all");
	if (!written->selection)
		return;
	CHECK_EQUAL(read->recorded.live_objects, 70);
	CHECK_EQUAL(read->recorded.live_bytes, 700000);
	CHECK_EQUAL(read->undecided.live_objects, 3);
	CHECK_EQUAL(read->undecided.live_records, 3);
	CHECK_EQUAL(read->undecided.live_bytes, 33);
}

static void test_round_trip(bool is_estimate, bool is_difference)
{
	const struct heap_profile written = ours(is_estimate, is_difference);
	const struct pprof_options options = { .errors = true };
	struct heap_profile read;
	uint8_t *data = NULL, *again = NULL;
	size_t size = 0, again_size = 0;

	must(pprof_encode(&written, &options, &data, &size));
	must(pprof_decode(data, size, &read));
	check_samples(&read);
	check_code(&read);
	check_header(&read, &written);
	check_part(&read, &written);
	if (is_estimate) {
		CHECK_EQUAL(read.total.live_bytes_variance, 8192 * 8192); // as the first one
		CHECK_EQUAL(read.total.live_objects_variance, 3600);
		CHECK_EQUAL(read.samples[0].values.live_bytes_variance, 8192 * 8192); // of an interval at least
		CHECK_EQUAL(read.samples[1].values.live_bytes_variance, 100 * 8192);  // of the interval, so assumed
	}
	must(pprof_encode(&read, &options, &again, &again_size));
	CHECK_EQUAL(again_size, size);
	CHECK(again_size == size && memcmp(again, data, size) == 0);
	heap_profile_deinit(&read);
	free(data);
	free(again);
}

// What was recorded as it is has no errors in a file either, also where its stacks are labelled with what may be
// missing.
static void test_exact(bool has_errors)
{
	struct heap_profile written = ours(true, false), read;
	const struct pprof_options options = { .errors = has_errors };
	uint8_t *data = NULL;
	size_t size = 0;

	written.total.live_bytes_variance = written.total.live_objects_variance = 0;
	must(pprof_encode(&written, &options, &data, &size));
	must(pprof_decode(data, size, &read));
	CHECK(read.is_estimate);
	CHECK_EQUAL(profile_bytes_error(&read, read.total.live_bytes_variance), 8192);
	CHECK(profile_is_recorded_exactly(&read.total));
	for (size_t i = 0; i < read.sample_count; i++)
		CHECK(profile_is_recorded_exactly(&read.samples[i].values));
	heap_profile_deinit(&read);
	free(data);
}

int main(void)
{
	test_comments();
	test_ledger();
	test_labels();
	test_difference();
	test_round_trip(false, false);
	test_round_trip(true, false);
	test_round_trip(true, true);
	test_exact(false);
	test_exact(true);
	return CHECK_RESULT();
}
