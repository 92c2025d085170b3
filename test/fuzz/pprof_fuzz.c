// SPDX-License-Identifier: Apache-2.0
// The reader of pprof files. Input: the file, a gzip or what is in one.
//
// What is accepted refers to nothing that is not there, was read with memory that is a multiple of its size, and
// written again is a profile with the same totals.
#include "fuzz.h"

#include "proto/gzip_file.h"
#include "proto/pprof/pprof_decoder.h"
#include "proto/pprof/pprof_encoder.h"

#include <sanitizer/allocator_interface.h>
#include <stdbool.h>
#include <string.h>

enum { EXPANDED_MAX = 1 << 20, MEMORY_FACTOR = 256, MEMORY_MIN = 1 << 18 };

static size_t allocated; // bytes in all, also of what was freed since

static void count_allocation(const volatile void *block, size_t size)
{
	(void)block;
	allocated += size;
}

static void ignore_free(const volatile void *block) { (void)block; }

static void require_code(const struct heap_profile *profile)
{
	for (size_t i = 0; i < profile->mapping_count; i++)
		REQUIRE(profile->mappings[i].file && profile->mappings[i].build_id);
	for (size_t i = 0; i < profile->module_count; i++)
		REQUIRE(profile->modules[i].path &&
			profile->modules[i].build_id_size <= sizeof(profile->modules[i].build_id));
	for (size_t i = 0; i < profile->function_count; i++)
		REQUIRE(profile->functions[i].name && profile->functions[i].system_name && profile->functions[i].file);
	for (size_t i = 0; i < profile->line_count; i++)
		REQUIRE(profile->lines[i].function < profile->function_count);
	for (size_t i = 0; i < profile->location_count; i++) {
		const struct profile_location *location = &profile->locations[i];

		REQUIRE(location->module < profile->module_count || location->module == UINT32_MAX);
		REQUIRE(location->mapping < profile->mapping_count || location->mapping == UINT32_MAX);
		REQUIRE(location->first_line <= profile->line_count &&
			location->line_count <= profile->line_count - location->first_line);
	}
}

static void require_samples(const struct heap_profile *profile)
{
	struct profile_values total = { 0 };

	for (size_t i = 0; i < profile->frame_count; i++)
		REQUIRE(profile->frames[i] < profile->location_count);
	for (size_t i = 0; i < profile->sample_count; i++) {
		const struct profile_sample *sample = &profile->samples[i];

		REQUIRE(sample->first_frame <= profile->frame_count &&
			sample->frame_count <= profile->frame_count - sample->first_frame);
		REQUIRE(sample->values.live_bytes_variance >= 0 && sample->values.live_objects_variance >= 0);
		profile_values_add(&total, &sample->values);
	}
	REQUIRE(total.live_bytes == profile->total.live_bytes && total.alloc_bytes == profile->total.alloc_bytes);
	REQUIRE(profile->total.live_bytes_variance >= 0 && profile->total.live_objects_variance >= 0);
	for (size_t i = 0; i < profile->ledger_count; i++)
		REQUIRE(*profile->ledger[i].name && profile->ledger[i].text);
	REQUIRE(profile->program && profile->period >= 1);
}

static void require_same_totals(const struct heap_profile *a, const struct heap_profile *b)
{
	const uint64_t error = profile_bytes_error(a, a->total.live_bytes_variance);

	REQUIRE(a->total.alloc_objects == b->total.alloc_objects && a->total.alloc_bytes == b->total.alloc_bytes);
	REQUIRE(a->total.live_objects == b->total.live_objects && a->total.live_bytes == b->total.live_bytes);
	REQUIRE(a->is_estimate == b->is_estimate && a->period == b->period && a->pid == b->pid);
	if (a->is_estimate && error < UINT64_C(1) << 50)
		REQUIRE(profile_bytes_error(b, b->total.live_bytes_variance) == error);
}

static void try_message(const uint8_t *data, size_t size)
{
	const struct pprof_options options = { .errors = true };
	struct heap_profile profile, again;
	struct hs_error *error;
	uint8_t *written = NULL;
	size_t written_size = 0;

	allocated = 0;
	error = pprof_decode(data, size, &profile);
	REQUIRE(allocated <= MEMORY_FACTOR * size + MEMORY_MIN);
	if (error) {
		REQUIRE(error->code == HS_ERROR_BAD_DATA);
		hs_error_destroy(error);
		return;
	}
	REACHED();
	require_code(&profile);
	require_samples(&profile);
	REQUIRE(!pprof_encode(&profile, &options, &written, &written_size));
	REQUIRE(!pprof_decode(written, written_size, &again));
	require_same_totals(&profile, &again);
	heap_profile_deinit(&again);
	heap_profile_deinit(&profile);
	free(written);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool is_counting;
	uint8_t *expanded = NULL;
	size_t expanded_size = 0;

	if (!is_counting)
		REQUIRE(__sanitizer_install_malloc_and_free_hooks(count_allocation, ignore_free) > 0);
	is_counting = true;
	if (gzip_is(data, size)) {
		struct hs_error *error = gzip_expand(data, size, EXPANDED_MAX, &expanded, &expanded_size);

		REQUIRE(!error || error->code == HS_ERROR_BAD_DATA);
		hs_error_destroy(error);
		if (!error)
			try_message(expanded, expanded_size);
		free(expanded);
		return 0;
	}
	try_message(data, size);
	return 0;
}
