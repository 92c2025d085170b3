// SPDX-License-Identifier: Apache-2.0
// From a region that a target has written into to the finished profile: header check, table_check, aggregate,
// profile_build, ledger, sites, encoder.
//
// Input: words that are written over an honest region, 16 bytes each: part (1 byte, see `parts`), 3 unused, index of
// the word in that part (4), value (8). So a mutation is a lie in one place, and the empty input is the honest region.
#include "fuzz.h"
#include "test/unit/made_region.h"

#include "attach/region/region_access.h"
#include "proto/pprof/pprof_encoder.h"
#include "snapshot/profile/aggregate.h"
#include "snapshot/profile/ledger.h"
#include "snapshot/profile/profile_build.h"
#include "views/profile_view.h"

#include <math.h>
#include <stdbool.h>

static const char maps_text[] = "555555554000-555555555000 r--p 00000000 08:01 11 /bin/program\n"
				"555555555000-555555558000 r-xp 00001000 08:01 11 /bin/program\n"
				"7ffff7c00000-7ffff7c28000 r-xp 00028000 08:01 12 /lib/libc.so.6\n"
				"7ffff7d00000-7ffff7d01000 rwxp 00000000 00:00 0 \n"
				"7ffff7d10000-7ffff7d20000 rw-s 00000000 00:05 10 /dev/zero (deleted)\n";

enum { PAGES = 200, LIES_MAX = 256 };

static const struct {
	uint64_t offset, words;
} parts[] = {
	{ 0, sizeof(struct region_header) / 8 },
	{ HS_OFFSET_HOOKS, 4 * sizeof(struct hook_record) / 8 },
	{ HS_OFFSET_MODULES, 6 * sizeof(struct module_record) / 8 },
	{ HS_OFFSET_STRINGS, 16 },
	{ HS_OFFSET_SLOTS, sizeof(struct shared_slot) / 8 },
	{ HS_OFFSET_SLOTS + HS_SLOT_STRIDE, sizeof(struct shared_slot) / 8 },
	{ HS_OFFSET_BUCKETS, HS_STACK_BUCKETS / 2 },
	{ HS_OFFSET_ROOT, HS_ROOT_ENTRIES / 2 },
	{ HS_OFFSET_PAGES, (uint64_t)PAGES *HS_PAGE_SIZE / 8 },
	{ HS_OFFSET_PAGES, 64 },
	{ HS_OFFSET_SAMPLES, HS_SAMPLE_ENTRIES },
};

static struct made_region region;
static struct proc_maps maps;

static void make_region(void)
{
	struct module_record *module;
	struct block_record *sampled;
	uint32_t outer, inner;

	made_region_init(&region, PAGES);
	module = made_module(&region, "/bin/program");
	module->start = module->load_bias = 0x555555554000, module->end = 0x555555559000;
	module->flags = MODULE_MAIN;
	module = made_module(&region, "/lib/libc.so.6");
	module->start = module->load_bias = 0x7ffff7bd8000, module->end = 0x7ffff7c50000;
	module->build_id_size = 20;
	made_hook(&region, "malloc");
	made_hook(&region, "free")->verdict = VERDICT_ok + 1;
	outer = made_node(&region, 1, made_frame(0x555555555123, 1), 0);
	inner = made_node(&region, 2, made_frame(0x7ffff7c00456, 2), outer);
	made_block(&region, 0x555555600010, 100, inner);
	made_block(&region, 0x555555600028, 8, outer);
	made_block(&region, 0x7ffff0000020, 1000, inner);
	*made_narrow_entry(&region, 0x7ffff0000020) = made_record(&region, 24, outer); // hidden
	made_block(&region, 0x7ffff0000000, 32, outer);                                // of the same piece
	sampled = made_ref(&region, made_block(&region, 0x7ffff0001000, 700, inner));
	sampled->interval = 4096;
	sampled = made_ref(&region, made_block(&region, 0x7ffff0002000, 9000, outer));
	sampled->interval = 4096, sampled->samples = 2;
	made_slot(&region, 0)->totals[0] = (struct totals_entry){ inner, 3, 300 };
	made_slot(&region, 1)->pending = made_record(&region, 64, outer);
	if (proc_maps_parse(maps_text, strlen(maps_text), &maps))
		abort();
}

// Values stay sums of what the samples say; errors are numbers.
static void require_values(const struct heap_profile *profile)
{
	int64_t live_bytes = 0, live_objects = 0;

	for (size_t i = 0; i < profile->sample_count; i++) {
		const struct profile_sample *sample = &profile->samples[i];

		REQUIRE(sample->values.live_bytes >= 0 && sample->values.live_objects >= 0 &&
			sample->values.alloc_bytes >= 0 && sample->values.alloc_objects >= 0);
		REQUIRE(!__builtin_add_overflow(live_bytes, sample->values.live_bytes, &live_bytes));
		REQUIRE(!__builtin_add_overflow(live_objects, sample->values.live_objects, &live_objects));
		REQUIRE(isfinite(sample->values.live_objects_variance) && sample->values.live_objects_variance >= 0);
		REQUIRE(isfinite(sample->values.live_bytes_variance) && sample->values.live_bytes_variance >= 0);
	}
	REQUIRE(live_bytes == profile->total.live_bytes && live_objects == profile->total.live_objects);
	REQUIRE(profile_error(profile->total.live_bytes_variance) < INT64_MAX && profile->period >= 1);
}

static void digest(void)
{
	struct heap_profile profile = { .pid = 1 };
	struct frame_rules *rules = NULL;
	struct aggregate totals;
	struct table_view view;
	struct profile_view view_of_sites;
	size_t size = 0;
	uint8_t *data = NULL;
	struct hs_error *error = region_check_header(region.header, region.size);

	if (error) {
		hs_error_destroy(error);
		return;
	}
	REACHED();
	table_view_init(&region_layout_own, region.header, region.bytes, region.size, &view);
	error = aggregate_make(&view, &totals);
	if (!error) {
		error = profile_build(&view, &totals, &maps, &profile);
		if (!error)
			error = ledger_build(&view, &totals, &profile);
		aggregate_deinit(&totals);
	}
	if (!error)
		require_values(&profile);
	if (!error)
		error = frame_rules_create(&rules);
	if (!error)
		error = profile_view_make(&profile, rules, &view_of_sites);
	if (!error)
		profile_view_deinit(&view_of_sites);
	if (!error)
		error = pprof_encode(&profile, &(struct pprof_options){ .errors = true }, &data, &size);
	REQUIRE(!error && size > 0); // whatever the region says, there is a profile
	free(data);
	frame_rules_destroy(rules);
	heap_profile_deinit(&profile);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint64_t *places[LIES_MAX], before[LIES_MAX];
	size_t lies = size / 16 < LIES_MAX ? size / 16 : LIES_MAX;

	if (!region.bytes)
		make_region();
	for (size_t i = 0; i < lies; i++, data += 16) {
		size_t part = data[0] % (sizeof(parts) / sizeof(parts[0]));
		uint32_t index;

		memcpy(&index, data + 4, sizeof(index));
		places[i] = (uint64_t *)(region.bytes + parts[part].offset) + index % parts[part].words;
		before[i] = *places[i];
		memcpy(places[i], data + 8, sizeof(uint64_t));
	}
	digest();
	for (size_t i = lies; i-- > 0;)
		*places[i] = before[i];
	return 0;
}
