// SPDX-License-Identifier: Apache-2.0
// What is refused, and what other programs write. What we write ourselves is read in pprof_read_back_test.c.
#include "check.h"
#include "made_pprof.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct {
	const char *what, *message;
	const char *error; // a part of it
} refused[] = {
	{ "nothing", "", "it is no pprof profile" },
	{ "no message", "!ff", "it is no pprof profile" },
	{ "text", "!68656c6c6f2c20776f726c64", "it is no pprof profile" },
	{ "a group", WHOLE "!0b !0c", "it is no pprof profile" },
	{ "the end of a group", WHOLE "!0c", "it is no pprof profile" },
	{ "field 0", WHOLE "0=1", "it is no pprof profile" },
	{ "a tag of more than 32 bits", WHOLE "!808080801001", "it is no pprof profile" },
	{ "a number of 11 bytes", WHOLE "!60ffffffffffffffffffff01", "it is no pprof profile" },
	{ "a number of 65 bits", WHOLE "!60ffffffffffffffffff03", "it is no pprof profile" },
	{ "cut short in a number", WHOLE "!60ff", "it is no pprof profile" },
	{ "cut short in a string", WHOLE "!3205616263", "it is no pprof profile" },
	{ "cut short in an unknown fixed number", WHOLE "!a10601020304", "it is no pprof profile" },
	{ "a length of 64 bits", WHOLE "!32ffffffffffffffffff01", "it is no pprof profile" },
	{ "a string as a number", WHOLE "6=1", "it is no pprof profile" },
	{ "a time as a string", WHOLE "9:x", "it is no pprof profile" },
	{ "an id as a string", WHOLE "5{1:x}", "it is no pprof profile" },
	{ "a comment as a fixed number", WHOLE "!6900000000 !00000000", "it is no pprof profile" },
	{ "values cut short", TYPE "2{1=1 2[!ff]} " MAPPING LOCATION FUNCTION TEXTS, "it is no pprof profile" },
	{ "locations cut short", TYPE "2{1[!81] 2=1} " MAPPING LOCATION FUNCTION TEXTS, "it is no pprof profile" },
	{ "a label as a number", TYPE "2{1=1 2=1 3=1} " MAPPING LOCATION FUNCTION TEXTS, "it is no pprof profile" },
	{ "no strings", "1{1=0 2=0}", "it is no pprof profile" },
	{ "first string not empty", "1{1=0 2=0} 6:space", "it is no pprof profile" },
	{ "no sample types", TEXTS, "its sample types are none" },
	{ "a name of a type out of range", "1{1=7 2=2} " TEXTS, "it is no pprof profile" },
	{ "a unit out of range", "1{1=1 2=-1} " TEXTS, "it is no pprof profile" },
	{ "a function's name out of range", TYPE TEXTS "5{1=1 2=7}", "there is no string 7;" },
	{ "a function's system name out of range", TYPE TEXTS "5{1=1 2=1 3=7}", "there is no string 7;" },
	{ "a function's file out of range", TYPE TEXTS "5{1=1 2=1 4=-1}", "there is no string 18446744073709551615;" },
	{ "a mapping's file out of range", TYPE TEXTS "3{1=1 5=7}", "there is no string 7;" },
	{ "a build id out of range", TYPE TEXTS "3{1=1 6=7}", "there is no string 7;" },
	{ "a comment out of range", TYPE TEXTS "13[1 7]", "there is no string 7;" },
	{ "a default out of range", TYPE TEXTS "14=7", "there is no string 7;" },
	{ "drop_frames out of range", TYPE TEXTS "7=7", "there is no string 7;" },
	{ "a period's unit out of range", TYPE TEXTS "11{1=1 2=7}", "there is no string 7;" },
	{ "a label's key out of range", TYPE "2{2=1 3{1=7}} " TEXTS, "there is no string 7;" },
	{ "a label's text out of range", TYPE "2{2=1 3{1=1 2=7}} " TEXTS, "there is no string 7;" },
	{ "a label's unit out of range", TYPE "2{2=1 3{1=1 3=1 4=7}} " TEXTS, "there is no string 7;" },
	{ "location id 0", TYPE TEXTS "4{3=5}", "location 0 is no id" },
	{ "function id 0", TYPE TEXTS "5{2=1}", "function 0 is no id" },
	{ "mapping id 0", TYPE TEXTS "3{2=1}", "mapping 0 is no id" },
	{ "a location twice", TYPE TEXTS "4{1=1} 4{1=2} 4{1=1}", "location 1 is there twice" },
	{ "a function twice", TYPE TEXTS "5{1=9} 5{1=9}", "function 9 is there twice" },
	{ "a mapping twice", TYPE TEXTS "3{1=1} 3{1=7} 3{1=7}", "mapping 7 is there twice" },
	{ "an unknown location", TYPE TEXTS "4{1=1} 2{1=2 2=1}", "there is no location 2;" },
	{ "location 0", TYPE TEXTS "4{1=1} 2{1=0 2=1}", "there is no location 0;" },
	{ "an unknown location of many", TYPE TEXTS "4{1=10} 4{1=20} 2{1[10 20 30] 2=1}", "there is no location 30;" },
	{ "an unknown function", TYPE TEXTS "4{1=1 4{1=1}}", "there is no function 1;" },
	{ "no function", TYPE TEXTS FUNCTION "4{1=1 4{2=1}}", "there is no function 0;" },
	{ "no value", TYPE TEXTS "2{}", "a sample has 0 values, of 1 sample types" },
	{ "too many values", TYPE TEXTS "2{2[1 2]}", "a sample has 2 values, of 1 sample types" },
	{ "two profiles", WHOLE "9=1 " WHOLE "9=1", "it is several profiles in one" },
	{ "two profiles without a time", WHOLE WHOLE, "is there twice" },
	{ "values beyond 2^63", TYPE TEXTS "2{2=0x7fffffffffffffff} 2{2=1}", "its values add up to more than 2^63" },
	{ "values below -2^63", TYPE TEXTS "2{2=-0x7fffffffffffffff} 2{2=-2}", "its values add up to more than 2^63" },
	{ "processor time", "1{1=1 2=2} 1{1=3 2=4} 6: 6:samples 6:count 6:cpu 6:nanoseconds",
	  "its sample types are samples/count, cpu/nanoseconds; only heap profiles are read" },
	{ "a control character as a type", "1{1=1 2=0} 6: 6:\033[2J", "its sample types are \\x1b[2J/;" },
	{ "many types, and long ones",
	  "1{1=1 2=2} 1{1=2} 1{} 1{} 1{} 1{} 1{} 6: 6:abcdefghijklmnopqrstuvwxyzabcdef 6:b",
	  "are abcdefghijklmnopqrstuvwx/b, b/, /, /, /, /, …; only" },
	{ "space in other units", "1{1=1 2=2} 6: 6:space 6:kilobytes", "its sample types are space/kilobytes;" },
};

static void test_refused(void)
{
	for (size_t i = 0; i < COUNT(refused); i++) {
		struct heap_profile profile;
		const bool is_refused_so = fails_with(decode(refused[i].message, &profile), refused[i].error);

		CHECK(is_refused_so);
		if (!is_refused_so)
			fprintf(stderr, "in: %s\n", refused[i].what);
		CHECK(!profile.samples && !profile.program);
		heap_profile_deinit(&profile);
	}
}

// Each beginning of a profile is refused or, where a field ends, read; the sanitizers see the rest.
static void test_cut_short(void)
{
	struct heap_profile profile;
	size_t accepted = 0;

	message.size = 0;
	made_message_add(&message, TEXTS WHOLE);
	for (size_t size = 0; size < message.size; size++) {
		uint8_t *exact = malloc(size + 1);
		struct hs_error *error;

		if (!exact)
			abort();
		memcpy(exact, message.data, size);
		error = pprof_decode(exact, size, &profile);
		if (!error) {
			accepted++;
			heap_profile_deinit(&profile);
		}
		hs_error_destroy(error);
		free(exact);
	}
	CHECK(accepted > 0 && accepted < 20);
}

// What other programs write, and the values that are read from it.
static const struct {
	const char *what, *message;
	struct profile_values total;
	int64_t period;
	bool is_estimate;
	size_t samples, frames, locations;
} foreign[] = {
	{ "the smallest", WHOLE, { .live_bytes = 100 }, 1, false, 1, 1, 1 },
	{ "in another order",
	  TEXTS "99:unknown " FUNCTION LOCATION "1234=5 " MAPPING "!f10601020304050607 !08 " SAMPLE TYPE,
	  { .live_bytes = 100 },
	  1,
	  false,
	  1,
	  1,
	  1 },
	{ "Go, all four types and a rate",
	  "1{1=1 2=2} 1{1=3 2=4} 1{1=5 2=2} 1{1=6 2=4} "
	  "2{1[1 2] 2[20 2000 10 1000] 3{1=7 3=100}} 2{1[2] 2[2 64 0 0] 3{1=7 3=32}} "
	  "4{1=1 3=0x10} 4{1=2 3=0x20} 9=1700000000 11{1=8 2=4} 12=524288 14=6 "
	  "6: 6:alloc_objects 6:count 6:alloc_space 6:bytes 6:inuse_objects 6:inuse_space 6:bytes 6:space",
	  { 22, 2064, 10, 1000, 0, 10.0 * 10 / 1000 * 524288, 1000.0 * 524288, 0 },
	  524288,
	  true,
	  2,
	  3,
	  2 },
	{ "tcmalloc: objects, space and others",
	  "1{1=1 2=2} 1{1=3 2=4} 1{1=5 2=4} 2{1=7 1=9 2=5 2=500 2=4096} 4{1=7} 4{1=9} "
	  "6: 6:objects 6:count 6:space 6:bytes 6:resident_space",
	  { .live_objects = 5, .live_bytes = 500 },
	  1,
	  false,
	  1,
	  2,
	  2 },
	{ "heapprofd: space before objects, of what is allocated, too",
	  "1{1=1 2=2} 1{1=3 2=2} 1{1=4 2=5} 1{1=6 2=5} 2{2[7 70 1 10]} "
	  "6: 6:space 6:bytes 6:alloc_space 6:objects 6:count 6:alloc_objects",
	  { 10, 70, 1, 7, 0, 0, 0, 0 },
	  1,
	  false,
	  1,
	  0,
	  0 },
	{ "jemalloc: inuse_space alone",
	  "1{1=1 2=2} 2{2=7} 12=1024 11{1=1 2=2} " TEXTS,
	  { .live_bytes = 7, .live_bytes_variance = 7 * 1024 },
	  1024,
	  true,
	  1,
	  0,
	  0 },
	{ "inuse_space is preferred to space",
	  "1{1=1 2=2} 1{1=3 2=2} 2{2[1 2]} 6: 6:space 6:bytes 6:inuse_space",
	  { .live_bytes = 2 },
	  1,
	  false,
	  1,
	  0,
	  0 },
	{ "a period of a clock",
	  "1{1=1 2=2} 2{2=7} 12=10000000 11{1=1 2=3} " TEXTS,
	  { .live_bytes = 7 },
	  1,
	  false,
	  1,
	  0,
	  0 },
	{ "packed and not, in several parts",
	  TYPE "2{1=5 1[6 5] 2[] 1=6 2=100} 4{1=5} 4{1=6} " TEXTS,
	  { .live_bytes = 100 },
	  1,
	  false,
	  1,
	  4,
	  2 },
	{ "a period's type in two parts",
	  "1{1=1 2=2} 2{2=7} 12=64 11{1=1} 11{2=2} " TEXTS,
	  { .live_bytes = 7, .live_bytes_variance = 7 * 64 },
	  64,
	  true,
	  1,
	  0,
	  0 },
	{ "a difference", TYPE "2{2=-100} 2{2=30} " TEXTS, { .live_bytes = -70 }, 1, false, 2, 0, 0 },
	{ "no sample at all", TYPE TEXTS, { 0 }, 1, false, 0, 0, 0 },
	{ "labels of others",
	  TYPE "2{2=5 3{1=7 3=9 4=2} 3{1=3 2=5}} " TEXTS "6:inuse_space_error",
	  { .live_bytes = 5 },
	  1,
	  false,
	  1,
	  0,
	  0 },
	{ "comments of others",
	  TYPE "13[1 3 7 8 9] 2{2=5} " TEXTS "6:pid:7 6:sampling_interval:5 6'#process: sampling_interval: 5'",
	  { .live_bytes = 5 },
	  1,
	  false,
	  1,
	  0,
	  0 },
	{ "a mapping that is not there", TYPE "4{1=1 2=77} 2{1=1 2=5} " TEXTS, { .live_bytes = 5 }, 1, false, 1, 1, 1 },
	{ "a negative period", TYPE "12=-5 2{2=5} " TEXTS, { .live_bytes = 5 }, 1, false, 1, 0, 0 },
};

static void test_foreign(void)
{
	for (size_t i = 0; i < COUNT(foreign); i++) {
		const int before = check_failures;
		struct heap_profile profile;

		must(decode(foreign[i].message, &profile));
		CHECK_EQUAL(profile.total.alloc_objects, foreign[i].total.alloc_objects);
		CHECK_EQUAL(profile.total.alloc_bytes, foreign[i].total.alloc_bytes);
		CHECK_EQUAL(profile.total.live_objects, foreign[i].total.live_objects);
		CHECK_EQUAL(profile.total.live_bytes, foreign[i].total.live_bytes);
		CHECK_EQUAL(profile.total.live_objects_variance, foreign[i].total.live_objects_variance);
		CHECK_EQUAL(profile.total.live_bytes_variance, foreign[i].total.live_bytes_variance);
		CHECK_EQUAL(profile.period, foreign[i].period);
		CHECK_EQUAL(profile.is_estimate, foreign[i].is_estimate);
		CHECK_EQUAL(profile.sample_count, foreign[i].samples);
		CHECK_EQUAL(profile.frame_count, foreign[i].frames);
		CHECK_EQUAL(profile.location_count, foreign[i].locations);
		CHECK(profile.is_foreign);
		CHECK_EQUAL(profile.ledger_count, 0);
		if (check_failures > before)
			fprintf(stderr, "in: %s\n", foreign[i].what);
		heap_profile_deinit(&profile);
	}
}

static void test_code(void)
{
	struct heap_profile profile;

	must(decode(WHOLE "3{1=2 2=0x3000 3=0x4000 4=0x2400 5=4 6=6 7=1 8=1 9=1 10=1} "
			  "3{1=5 2=0x9000 3=0xa000 5=7} 3{1=6 2=0xb000 3=0xc000 5=8} 3{1=7 2=0xd000 3=0xe000} "
			  "4{1=2 2=2 3=0x3001 5=1} 4{1=3 2=5 3=0x9100 4{1=1 2=1 3=8} 4{1=2 2=2}} "
			  "4{1=4 2=6} 4{1=5} 5{1=2 3=3} 6:[vdso] 6://anon",
		    &profile));
	CHECK_STRING(profile.program, "app");
	CHECK_EQUAL(profile.mapping_count, 5);
	CHECK_EQUAL(profile.mappings[0].start, 0x1000);
	CHECK_EQUAL(profile.mappings[0].limit, 0x2000);
	CHECK_EQUAL(profile.mappings[0].file_offset, 0x400);
	CHECK_STRING(profile.mappings[0].file, "/bin/app");
	CHECK_STRING(profile.mappings[0].build_id, "ab12");
	CHECK(!profile.mappings[0].has_functions && !profile.mappings[0].has_inline_frames);
	CHECK(profile.mappings[1].has_functions && profile.mappings[1].has_filenames &&
	      profile.mappings[1].has_line_numbers && profile.mappings[1].has_inline_frames);
	CHECK_STRING(profile.mappings[4].file, "");

	CHECK_EQUAL(profile.module_count, 2); // the program's two mappings have one bias; none is made of "//anon"
	CHECK_STRING(profile.modules[0].path, "/bin/app");
	CHECK_EQUAL(profile.modules[0].load_bias, 0xc00);
	CHECK_EQUAL(profile.modules[0].start, 0x1000);
	CHECK_EQUAL(profile.modules[0].end, 0x4000);
	CHECK_EQUAL(profile.modules[0].build_id_size, 2);
	CHECK_EQUAL(profile.modules[0].build_id[0], 0xab);
	CHECK_EQUAL(profile.modules[0].build_id[1], 0x12);
	CHECK(profile.modules[0].is_main && !profile.modules[0].is_vdso);
	CHECK_STRING(profile.modules[1].path, "[vdso]");
	CHECK(!profile.modules[1].is_main && profile.modules[1].is_vdso);

	CHECK_EQUAL(profile.location_count, 5);
	CHECK_EQUAL(profile.locations[0].address, 0x1010);
	CHECK_EQUAL(profile.locations[1].module, 0);
	CHECK_EQUAL(profile.locations[1].mapping, 1);
	CHECK_EQUAL(profile.locations[1].line_count, 0);
	CHECK_EQUAL(profile.locations[2].module, 1);
	CHECK_EQUAL(profile.locations[2].line_count, 2);
	CHECK_EQUAL(profile.locations[3].module, UINT32_MAX);
	CHECK_EQUAL(profile.locations[3].mapping, 3);
	CHECK_EQUAL(profile.locations[4].mapping, UINT32_MAX);
	CHECK_EQUAL(profile.lines[profile.locations[2].first_line].line, 1);
	CHECK_EQUAL(profile.lines[profile.locations[2].first_line + 1].function, 1);
	CHECK_STRING(profile.functions[0].name, "main");
	CHECK_STRING(profile.functions[0].file, "main.c");
	CHECK_EQUAL(profile.functions[0].start_line, 9);
	CHECK_STRING(profile.functions[1].name, "main"); // only the system name is said
	CHECK_STRING(profile.functions[1].system_name, "main");
	heap_profile_deinit(&profile);
}

// A file in two places, or of two builds, is two modules; and an id that is no hexadecimal text is none.
static void test_modules(void)
{
	struct heap_profile profile;

	must(decode(TYPE TEXTS "3{1=1 2=0x1000 5=4 6=6} 3{1=2 2=0x5000 5=4 6=6} 3{1=3 2=0x1000 5=4 6=1} "
			       "3{1=4 2=0x9000 4=0x8000 5=4 6=6} 3{1=5 2=0x1000 5=3 6=6}",
		    &profile));
	CHECK_EQUAL(profile.module_count, 4);
	CHECK_EQUAL(profile.modules[1].load_bias, 0x5000);
	CHECK_EQUAL(profile.modules[2].build_id_size, 0);
	heap_profile_deinit(&profile);
}

// Names that are many times as long as the file, and as many lines of the ledger.
static void test_bombs(void)
{
	enum { LENGTH = 60000, FUNCTIONS = 300, COMMENTS = 20000 };
	static char name[LENGTH + 3] = "6:", ledger[LENGTH];
	struct heap_profile profile;

	memset(name + 2, 'x', LENGTH);
	message.size = 0;
	made_message_add(&message, TYPE TEXTS);
	made_message_add(&message, name);
	for (int i = 1; i <= FUNCTIONS; i++) {
		char function[64];

		snprintf(function, sizeof(function), "5{1=%d 2=7}", i);
		made_message_add(&message, function);
	}
	CHECK(fails_with(pprof_decode(message.data, message.size, &profile), "its names are many times as long"));

	message.size = 0;
	made_message_add(&message, TYPE TEXTS "6'heapsnap: 1' 6'a: 0 ()' 13=7");
	for (int i = 0; i < COMMENTS; i++)
		made_message_add(&message, "13=8");
	CHECK(fails_with(pprof_decode(message.data, message.size, &profile), "its names are many times as long"));

	strcpy(ledger, "6'#ledger: ");
	for (size_t i = strlen(ledger); i + 16 < sizeof(ledger); i += strlen(ledger + i))
		strcpy(ledger + i, " | a: 1 (b)");
	strcat(ledger, "'");
	message.size = 0;
	made_message_add(&message, TYPE TEXTS "6'heapsnap: 1' 13=7");
	made_message_add(&message, ledger);
	made_message_add(&message, "13=8");
	CHECK(fails_with(pprof_decode(message.data, message.size, &profile), "its names are many times as long"));
}

int main(void)
{
	test_refused();
	test_cut_short();
	test_foreign();
	test_code();
	test_modules();
	test_bombs();
	return CHECK_RESULT();
}
