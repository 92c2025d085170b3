// SPDX-License-Identifier: Apache-2.0
// From a made-up region and made-up maps to modules, mappings, locations and samples.
#include "check.h"
#include "made_region.h"

#include "snapshot/profile/profile_build.h"

static const char maps_text[] =
	"00400000-00401000 r-xp 00000000 08:01 13 /lib/below.so\n"
	"10000000-10001000 r-xp 00000000 00:05 9 /memfd:heapsnap-code-0123456789abcdef0000000000000000 (deleted)\n"
	"555555554000-555555555000 r--p 00000000 08:01 11 /bin/program\n"
	"555555555000-555555558000 r-xp 00001000 08:01 11 /bin/program\n"
	"7ffff7c00000-7ffff7c28000 r-xp 00028000 08:01 12 /lib/libc.so.6\n"
	"7ffff7d00000-7ffff7d01000 rwxp 00000000 00:00 0 \n"
	"7ffff7d02000-7ffff7d04000 r-xp 00002000 08:01 11 /bin/program\n"
	"7ffff7d04000-7ffff7d05000 r-xp 00008000 08:01 11 /bin/program\n"
	"7ffff7d05000-7ffff7d06000 r-xp 00002000 08:01 99 /bin/program\n"
	"7ffff7d10000-7ffff7d20000 rw-s 00000000 00:05 10 /dev/zero (deleted)\n"
	"7ffff7fc1000-7ffff7fc3000 r-xp 00000000 00:00 0 [vdso]\n"
	"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n";

struct built {
	struct made_region region;
	struct table_view view;
	struct aggregate aggregate;
	struct proc_maps maps;
	struct heap_profile profile;
};

static void begin(struct built *built)
{
	static const struct built empty;
	struct module_record *module;

	*built = empty;
	made_region_init(&built->region, 200);
	built->region.header->stable.code_nonce = UINT64_C(0x0123456789abcdef);
	module = made_module(&built->region, "/bin/program");
	module->start = module->load_bias = 0x555555554000, module->end = 0x555555559000;
	module->flags = MODULE_MAIN;
	module->build_id_size = 3;
	memcpy(module->build_id, "\x01\xab\xf0", 3);
	module = made_module(&built->region, "/lib/libc.so.6");
	module->start = module->load_bias = 0x7ffff7bd8000, module->end = 0x7ffff7c50000;
	module = made_module(&built->region, "/lib/gone.so");
	module->load_bias = 0x7ffff7a00000, module->start = 0x7ffff7a00000, module->end = 0x7ffff7a10000;
	module->text_low = 0x7ffff7a01000, module->text_high = 0x7ffff7a08000;
	module->unloaded = 5;
	module = made_module(&built->region, "[vdso]");
	module->start = module->load_bias = 0x7ffff7fc1000, module->end = 0x7ffff7fc3000;
	module->flags = MODULE_VDSO;
	CHECK(proc_maps_parse(maps_text, strlen(maps_text), &built->maps) == NULL);
}

static void build_of(struct built *built, const struct block_selection *selection)
{
	const struct aggregate_options options = { selection, &(struct thread_names){ 0 }, 0 };
	struct hs_error *error;

	built->view = made_view(&built->region);
	error = aggregate_make_of(&built->view, &options, &built->aggregate);
	if (!error)
		error = profile_build(&built->view, &built->aggregate, &built->maps, &built->profile);
	CHECK(error == NULL);
	if (error)
		fprintf(stderr, "%s\n", error->message);
	hs_error_destroy(error);
}

static void build(struct built *built) { build_of(built, &(struct block_selection){ 0 }); }

static void end(struct built *built)
{
	aggregate_deinit(&built->aggregate);
	heap_profile_deinit(&built->profile);
	proc_maps_deinit(&built->maps);
	made_region_deinit(&built->region);
}

static const struct profile_location *location(const struct built *built, const struct profile_sample *sample,
					       uint32_t frame)
{
	static const struct profile_location none = { .mapping = UINT32_MAX };

	CHECK(frame < sample->frame_count);
	return frame < sample->frame_count
		       ? &built->profile.locations[built->profile.frames[sample->first_frame + frame]]
		       : &none;
}

static const char *file_of(const struct built *built, const struct profile_location *place)
{
	return place->mapping < built->profile.mapping_count ? built->profile.mappings[place->mapping].file : "(none)";
}

static void test_modules_and_mappings(void)
{
	struct built built;
	const struct heap_profile *profile = &built.profile;

	begin(&built);
	build(&built);
	CHECK_EQUAL(profile->module_count, 4);
	CHECK_STRING(profile->modules[1].path, "/lib/libc.so.6");
	CHECK(profile->modules[0].is_main && !profile->modules[1].is_main && profile->modules[3].is_vdso);
	CHECK(profile->modules[2].unloaded && !profile->modules[1].unloaded);
	CHECK_EQUAL(profile->modules[0].build_id_size, 3);
	// The main binary first; our own code and [vsyscall] not at all.
	CHECK_EQUAL(profile->mapping_count, 8);
	if (profile->mapping_count == 8) {
		CHECK_STRING(profile->mappings[0].file, "/bin/program");
		CHECK_STRING(profile->mappings[0].build_id, "01abf0");
		CHECK_EQUAL(profile->mappings[0].start, 0x555555555000);
		CHECK_EQUAL(profile->mappings[0].limit, 0x555555558000);
		CHECK_EQUAL(profile->mappings[0].file_offset, 0x1000);
		CHECK_STRING(profile->mappings[1].file, "/lib/below.so");
		CHECK_STRING(profile->mappings[2].file, "/lib/libc.so.6");
		CHECK_STRING(profile->mappings[2].build_id, "");
		CHECK_STRING(profile->mappings[3].file, "//anon");
		CHECK_STRING(profile->mappings[4].file, "/bin/program");
		CHECK_STRING(profile->mappings[7].file, "[vdso]");
	}
	end(&built);
}

static void test_samples(void)
{
	struct built built;
	const struct heap_profile *profile = &built.profile;
	const struct profile_sample *sample;
	uint32_t outer, caller, signal, gone, jit, nowhere, cut, top;

	begin(&built);
	outer = made_node(&built.region, 0, made_frame(0x555555555101, 1), 0);
	caller = made_node(&built.region, 1, made_frame(0x7ffff7c00010, 2), outer);
	signal = made_node(&built.region, 2, made_frame(0x7ffff7c00010, 2 | HS_FRAME_EXACT_PC), caller);
	gone = made_node(&built.region, 3, made_frame(0x7ffff7a02000, 3), signal);
	jit = made_node(&built.region, 4, made_frame(0x7ffff7d00100, 0), gone);
	nowhere = made_node(&built.region, 5, made_frame(0x1234, 0), jit);
	made_block(&built.region, 0x5000, 100, nowhere);
	made_block(&built.region, 0x5080, 50, caller);
	cut = made_node(&built.region, 6, made_frame(CUT_depth_limit, HS_FRAME_CUT), 0);
	top = made_node(&built.region, 7, made_frame(0x555555555101, 1), cut);
	made_block(&built.region, 0x50c0, 75, top);
	build(&built);

	CHECK_EQUAL(profile->sample_count, 3);
	sample = &profile->samples[0];
	CHECK_EQUAL(sample->frame_count, 6);
	CHECK_EQUAL(sample->values.live_bytes, 100);
	CHECK_EQUAL(location(&built, sample, 0)->address, 0x1233);
	CHECK_EQUAL(location(&built, sample, 0)->module, UINT32_MAX);
	CHECK_STRING(file_of(&built, location(&built, sample, 0)), "[unknown]");
	CHECK_EQUAL(location(&built, sample, 1)->address, 0x7ffff7d000ff);
	CHECK_STRING(file_of(&built, location(&built, sample, 1)), "//anon");
	CHECK_EQUAL(location(&built, sample, 2)->module, 2);
	CHECK_STRING(file_of(&built, location(&built, sample, 2)), "/lib/gone.so");
	CHECK_EQUAL(profile->mappings[location(&built, sample, 2)->mapping].start, 0x7ffff7a01000);
	CHECK_EQUAL(profile->mappings[location(&built, sample, 2)->mapping].limit, 0x7ffff7a08000);
	CHECK_EQUAL(profile->mappings[location(&built, sample, 2)->mapping].file_offset, 0x1000);
	CHECK_EQUAL(location(&built, sample, 3)->address, 0x7ffff7c00010); // an interrupted instruction
	CHECK_EQUAL(location(&built, sample, 4)->address, 0x7ffff7c0000f); // a return address
	CHECK_STRING(file_of(&built, location(&built, sample, 4)), "/lib/libc.so.6");
	CHECK_EQUAL(location(&built, sample, 5)->address, 0x555555555100);
	CHECK_EQUAL(location(&built, sample, 5)->mapping, 0);

	CHECK_EQUAL(profile->samples[1].frame_count, 2);
	CHECK_EQUAL(profile->samples[2].frame_count, 1); // the mark of the cut is no frame
	CHECK(location(&built, &profile->samples[2], 0) == location(&built, sample, 5));
	CHECK_EQUAL(profile->location_count, 6);
	CHECK_EQUAL(profile->total.live_bytes, 225);
	CHECK_EQUAL(profile->total.live_objects, 3);
	CHECK_EQUAL(profile->total.alloc_bytes, 225);
	CHECK_EQUAL(built.view.damaged, 0);
	end(&built);
}

// Code of a module that the process has mapped once more is the module's; what the module has not mapped itself, and
// another file of that name, are not.
static void test_copies(void)
{
	struct built built;
	const struct profile_sample *sample;
	uint32_t copy, beyond, other;

	begin(&built);
	copy = made_node(&built.region, 0, made_frame(0x7ffff7d02011, 0), 0);
	beyond = made_node(&built.region, 1, made_frame(0x7ffff7d04011, 0), copy);
	other = made_node(&built.region, 2, made_frame(0x7ffff7d05011, 0), beyond);
	made_block(&built.region, 0x5000, 100, other);
	build(&built);
	sample = &built.profile.samples[0];
	CHECK_EQUAL(location(&built, sample, 0)->address, 0x7ffff7d05010);
	CHECK_EQUAL(location(&built, sample, 0)->module, UINT32_MAX);
	CHECK_EQUAL(location(&built, sample, 1)->address, 0x7ffff7d04010);
	CHECK_EQUAL(location(&built, sample, 1)->module, UINT32_MAX);
	CHECK_EQUAL(location(&built, sample, 2)->address, 0x555555556010);
	CHECK_EQUAL(location(&built, sample, 2)->module, 0);
	CHECK_EQUAL(location(&built, sample, 2)->mapping, 0);
	end(&built);
}

// The deepest stack that the payload makes, and one frame more.
static void test_depth(void)
{
	for (uint32_t extra = 0; extra < 2; extra++) {
		struct built built;
		uint32_t node = 0;

		begin(&built);
		for (uint32_t i = 0; i < HS_DEPTH_MAX + 1 + extra; i++)
			node = made_node(&built.region, i, made_frame(0x555555555101 + i, 1), node);
		made_block(&built.region, 0x5000, 1, node);
		build(&built);
		CHECK_EQUAL(built.profile.samples[0].frame_count, HS_DEPTH_MAX + 1);
		CHECK_EQUAL(built.view.damaged, extra);
		end(&built);
	}
}

static void test_hostile_stacks(void)
{
	struct built built;
	uint32_t a, b, self, strange, wild;

	begin(&built);
	a = made_node(&built.region, 0, made_frame(0x555555555101, 1), 0);
	b = made_node(&built.region, 1, made_frame(0x555555555102, 1), a);
	((struct stack_node *)made_ref(&built.region, a))->parent = b;
	self = made_node(&built.region, 2, made_frame(0x555555555103, 1), 0);
	((struct stack_node *)made_ref(&built.region, self))->parent = self;
	wild = made_node(&built.region, 3, made_frame(0x555555555104, 1), UINT32_MAX);
	strange = made_node(&built.region, 4, made_frame(0, 0x3fff), 0); // a module that is not there, no pc
	made_block(&built.region, 0x5000, 1, b);
	made_block(&built.region, 0x5010, 1, self);
	made_block(&built.region, 0x5020, 1, wild);
	made_block(&built.region, 0x5030, 1, strange);
	build(&built);
	CHECK_EQUAL(built.profile.sample_count, 4);
	CHECK_EQUAL(built.profile.samples[0].frame_count, HS_DEPTH_MAX + 1);
	CHECK_EQUAL(built.profile.samples[1].frame_count, HS_DEPTH_MAX + 1);
	CHECK_EQUAL(built.profile.samples[2].frame_count, 1);
	CHECK_EQUAL(location(&built, &built.profile.samples[3], 0)->module, UINT32_MAX);
	CHECK_EQUAL(location(&built, &built.profile.samples[3], 0)->address, 0);
	CHECK_EQUAL(built.view.damaged, 3); // two loops and a parent that leads nowhere
	end(&built);
}

static void test_hostile_modules(void)
{
	struct built built;
	struct module_record *module;
	const struct heap_profile *profile = &built.profile;
	uint32_t node;

	begin(&built);
	module = made_module(&built.region, "/lib/wild.so");
	module->path = UINT32_MAX;
	module->build_id_size = UINT32_MAX;
	module->start = UINT64_MAX, module->end = 0;
	module->text_low = UINT64_MAX, module->text_high = 1, module->load_bias = 7;
	module->unloaded = 1;
	made_module(&built.region, "/lib/unready.so")->ready = 0;
	node = made_node(&built.region, 0, made_frame(0x555555555101, 5), 0);
	made_block(&built.region, 0x5000, 1, node);
	node = made_node(&built.region, 0, made_frame(0x555555555101, 6), 0);
	made_block(&built.region, 0x5010, 1, node);
	built.region.header->module_count = HS_MODULES_MAX;
	build(&built);
	CHECK_EQUAL(profile->module_count, HS_MODULES_MAX);
	CHECK_STRING(profile->modules[4].path, "");
	CHECK_EQUAL(profile->modules[4].build_id_size, 0);
	CHECK_STRING(profile->modules[5].path, "");
	CHECK_STRING(profile->modules[HS_MODULES_MAX - 1].path, "");
	CHECK_EQUAL(profile->sample_count, 2);
	CHECK_STRING(file_of(&built, location(&built, &profile->samples[0], 0)), "");
	CHECK_STRING(file_of(&built, location(&built, &profile->samples[1], 0)), "/bin/program");
	end(&built);
}

// Totals that no process can reach: the sums stay sums of what the samples say, and positive.
static void check_hostile_sizes(uint64_t size, uint64_t allocations)
{
	struct built built;
	const struct heap_profile *profile = &built.profile;
	int64_t live = 0, allocated = 0, bytes = 0;

	begin(&built);
	for (uint32_t i = 0; i < 4; i++) {
		const uint64_t large = i == 3 ? UINT64_MAX : size;
		uint32_t node = made_node(&built.region, i, made_frame(0x555555555101 + i, 1), 0);

		made_block(&built.region, 0x5000 + 16 * i, large, node);
		made_slot(&built.region, 1 + i)->totals[0] = (struct totals_entry){ node, 1, large };
		((struct stack_node *)made_ref(&built.region, node))->alloc_objects = allocations;
	}
	build(&built);
	CHECK_EQUAL(profile->sample_count, 4);
	for (size_t i = 0; i < profile->sample_count; i++) {
		const struct profile_sample *sample = &profile->samples[i];

		CHECK(sample->values.live_bytes >= 0 && sample->values.live_objects >= 0 &&
		      sample->values.alloc_bytes >= 0 && sample->values.alloc_objects >= 0);
		CHECK(!__builtin_add_overflow(live, sample->values.live_bytes, &live));
		CHECK(!__builtin_add_overflow(bytes, sample->values.alloc_bytes, &bytes));
		CHECK(!__builtin_add_overflow(allocated, sample->values.alloc_objects, &allocated));
	}
	CHECK_EQUAL(profile->total.live_bytes, live);
	CHECK_EQUAL(profile->total.alloc_bytes, bytes);
	CHECK_EQUAL(profile->total.alloc_objects, allocated);
	CHECK_EQUAL(profile->total.live_objects, 4);
	CHECK(built.view.damaged > 0);
	end(&built);
}

// Each too large for a total, and each alone small enough.
static void test_hostile_sizes(void)
{
	check_hostile_sizes(INT64_MAX, UINT64_MAX);
	check_hostile_sizes(UINT64_C(6000000000000000000), UINT64_MAX / 2);
}

// Where a library has gone another object may be mapped now: it has its own build id, which leads readers to its
// symbols.
static void test_after_unloaded(void)
{
	struct built built;
	struct module_record *modules;
	uint32_t found = 0;

	begin(&built);
	modules = (struct module_record *)(built.region.bytes + HS_OFFSET_MODULES);
	modules[2].start = modules[2].load_bias = modules[3].start, modules[2].end = modules[3].end;
	modules[2].build_id_size = modules[3].build_id_size = 2;
	memcpy(modules[2].build_id, "\x60\x4e", 2);
	memcpy(modules[3].build_id, "\xd5\x05", 2);
	build(&built);
	for (size_t i = 0; i < built.profile.mapping_count; i++) {
		if (strcmp(built.profile.mappings[i].file, "[vdso]") != 0)
			continue;
		CHECK_STRING(built.profile.mappings[i].build_id, "d505");
		found++;
	}
	CHECK_EQUAL(found, 1);
	end(&built);
}

// Rounded once, for each stack; errors and numbers of records beside the values.
// Longer than 60 lines: one profile, and each of its figures.
static void test_estimates(void)
{
	static const struct {
		uint32_t mode, interval, floor, always_exact;
		int64_t period;
		bool is_estimate;
	} cases[] = {
		{ SAMPLING_exact, 1, 0, 1, 1, false },
		{ SAMPLING_exact, 1, 0, 0, 1, true }, // exact again
		{ SAMPLING_exact, 4096, 0, 0, 1, true },
		{ SAMPLING_interval, 4096, 0, 0, 4096, true },
		{ SAMPLING_interval, 4096, 16384, 0, 16384, true }, // downsampled
		{ SAMPLING_words, 4096, 0, 0, 4096, true },
		{ SAMPLING_budget, 0, 0, 1, 1, false }, // within it
		{ SAMPLING_budget, 0, 0, 0, 8192, true },
		{ SAMPLING_interval, 0, 0, 0, 1, true }, // a lie
		{ UINT32_MAX, UINT32_MAX, 0, 0, UINT32_MAX, true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct built built;
		const struct heap_profile *profile = &built.profile;
		uint32_t node, other;

		begin(&built);
		node = made_node(&built.region, 0, made_frame(0x555555555101, 1), 0);
		other = made_node(&built.region, 1, made_frame(0x555555555201, 1), 0);
		made_block(&built.region, 0x5000, 1000, node);
		made_block(&built.region, 0x5010, 1000, node);
		made_block(&built.region, 0x5020, 1000, other);
		for (uint64_t block = 0x5000; block <= 0x5020 && cases[i].is_estimate; block += 16)
			made_record_at(&built.region, block)->interval = 1500;
		made_slot(&built.region, 0)->interval = cases[i].period == 8192 ? 8192 : 1;
		made_slot(&built.region, 1)->interval = 256 < cases[i].period ? 256 : 1;
		made_slot(&built.region, 2)->interval = UINT64_MAX; // stopped
		made_slot(&built.region, 3)->interval = 1 << 20;
		made_slot(&built.region, 3)->thread_pointer = HS_KEY_ENDED;
		built.region.header->sampling_mode = cases[i].mode;
		built.region.header->sampling_interval = cases[i].interval;
		built.region.header->interval_floor = cases[i].floor;
		built.region.header->always_exact = cases[i].always_exact;
		build(&built);
		CHECK_EQUAL(profile->period, cases[i].period);
		CHECK_EQUAL(profile->is_estimate, cases[i].is_estimate);
		CHECK_EQUAL(profile->sample_count, 2);
		CHECK_EQUAL(profile->samples[0].values.live_records, 2);
		CHECK_EQUAL(profile->samples[0].samples_per_block, 0);
		CHECK_EQUAL(profile->total.live_records, 3);
		if (cases[i].is_estimate) {
			// a = 2/3: w = 2.0551483..., bytes 2055.1483, variance of one (1 - p) / p^2 = 2.1684863
			CHECK_EQUAL(profile->samples[0].values.live_objects, 4);
			CHECK_EQUAL(profile->samples[0].values.live_bytes, 4110);
			CHECK_EQUAL(profile->samples[1].values.live_objects, 2);
			CHECK_EQUAL(profile->total.live_bytes, 4110 + 2055);
			CHECK_EQUAL(profile_error(profile->samples[0].values.live_bytes_variance), 2083);
			CHECK_EQUAL(profile_error(profile->samples[0].values.live_objects_variance),
				    3); // 2.08, rounded up
			CHECK_EQUAL(profile_error(profile->total.live_bytes_variance), 2551);
		} else {
			CHECK_EQUAL(profile->total.live_bytes, 3000);
			CHECK_EQUAL(profile_error(profile->total.live_bytes_variance), 0);
			CHECK_EQUAL(profile_error(profile->total.live_objects_variance), 0);
		}
		end(&built);
	}
}

// Of each stack what is of which cohort, whatever samples the stack has.
static void test_cohorts(void)
{
	static const uint32_t epochs[] = { 5, 9 };
	static const struct {
		uint32_t epoch, samples, stack;
		uint64_t size;
	} blocks[] = { { 4, 0, 0, 100 }, { 5, 0, 0, 200 }, { 6, 3, 0, 300 }, { 9, 3, 1, 400 } };
	static const int64_t expected[2][3] = { { 100, 500, 0 }, { 0, 0, 400 } }; // bytes of stack and cohort
	int64_t bytes[2][3] = { 0 };
	struct built built;
	uint32_t stacks[2];

	begin(&built);
	stacks[0] = made_node(&built.region, 0, made_frame(0x555555555101, 1), 0);
	stacks[1] = made_node(&built.region, 1, made_frame(0x7ffff7c00010, 2), stacks[0]);
	for (size_t i = 0; i < 4; i++) {
		struct block_record *record;

		made_block(&built.region, 0x5000 + 64 * i, blocks[i].size, stacks[blocks[i].stack]);
		record = made_ref(&built.region, built.region.records - 1);
		record->epoch = blocks[i].epoch;
		record->samples = blocks[i].samples & HS_SAMPLES_MAX;
	}
	build_of(&built, &(struct block_selection){ .cohort_epochs = epochs, .cohort_epoch_count = 2 });
	CHECK_EQUAL(built.profile.sample_count, 4); // with and without counted samples
	CHECK_EQUAL(built.profile.cohort_count, 3);
	for (size_t i = 0; i < built.profile.cohort_count; i++) {
		const struct profile_cohort *cohort = &built.profile.cohorts[i];

		CHECK(cohort->sample < built.profile.sample_count && cohort->number < 3);
		bytes[built.profile.samples[cohort->sample].frame_count - 1][cohort->number] += cohort->live.live_bytes;
	}
	for (size_t i = 0; i < 6; i++)
		CHECK_EQUAL(bytes[i / 3][i % 3], expected[i / 3][i % 3]);
	end(&built);
	begin(&built);
	build(&built);
	CHECK(!built.profile.cohorts);
	end(&built);
}

int main(void)
{
	test_cohorts();
	test_estimates();
	test_modules_and_mappings();
	test_samples();
	test_copies();
	test_depth();
	test_hostile_stacks();
	test_hostile_modules();
	test_hostile_sizes();
	test_after_unloaded();
	return CHECK_RESULT();
}
