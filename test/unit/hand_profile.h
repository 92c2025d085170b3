// SPDX-License-Identifier: Apache-2.0
// Profiles made by hand, with their names: each location is one place, and a stack is a text of letters, innermost
// first: "cab" is places[2] < places[0] < places[1].
#ifndef HEAPSNAP_TEST_UNIT_HAND_PROFILE_H
#define HEAPSNAP_TEST_UNIT_HAND_PROFILE_H

#include "views/named_profile.h"

#include <stdlib.h>
#include <string.h>

struct hand_place {
	const char *name, *full_name; // full_name: NULL = no symbol, and `line` is the offset in the module
	const char *file;
	int64_t line;
	const char *module; // base name: its path has a folder before it
	enum frame_class class;
};

struct hand_sample {
	const char *stack;
	int64_t live_bytes, live_objects, alloc_bytes, alloc_objects;
	double variance; // of the live bytes; of the blocks a hundredth
};

struct hand_profile {
	struct heap_profile profile;
	struct named_profile named;
};

// The texts are borrowed; the rest is freed by hand_free. All code without a symbol is in mappings of its own, from
// `base` on: what a random address is. Aborts without memory.
static void hand_make(struct hand_profile *hand, const struct hand_place *places, size_t place_count,
		      const struct hand_sample *samples, size_t sample_count, uint64_t base)
{
	struct heap_profile *profile = &hand->profile;
	struct named_profile *named = &hand->named;
	size_t frames = 0;

	for (size_t i = 0; i < sample_count; i++)
		frames += strlen(samples[i].stack);
	*profile = (struct heap_profile){
		.mappings = calloc(place_count + 1, sizeof(*profile->mappings)),
		.functions = calloc(place_count + 1, sizeof(*profile->functions)),
		.lines = calloc(place_count + 1, sizeof(*profile->lines)),
		.locations = calloc(place_count + 1, sizeof(*profile->locations)),
		.frames = calloc(frames + 1, sizeof(*profile->frames)),
		.samples = calloc(sample_count + 1, sizeof(*profile->samples)),
		.mapping_count = place_count,
		.function_count = place_count,
		.line_count = place_count,
		.location_count = place_count,
		.period = 1,
	};
	*named = (struct named_profile){
		.profile = profile,
		.places = calloc(place_count + 1, sizeof(*named->places)),
		.place_count = place_count,
		.first_place = calloc(place_count + 1, sizeof(*named->first_place)),
		.location_places = calloc(place_count + 1, sizeof(*named->location_places)),
	};
	if (!profile->mappings || !profile->functions || !profile->lines || !profile->locations || !profile->frames ||
	    !profile->samples || !named->places || !named->first_place || !named->location_places)
		abort();
	for (uint32_t i = 0; i < place_count; i++) {
		const struct hand_place *from = &places[i];
		const bool has_symbol = from->full_name != NULL;

		profile->mappings[i] = (struct profile_mapping){
			.start = base + i * UINT64_C(0x100000),
			.limit = base + (i + 1) * UINT64_C(0x100000),
			.file_offset = 0x1000,
			.file = (char *)from->module,
			.build_id = "",
		};
		profile->functions[i] = (struct profile_function){
			.name = (char *)(has_symbol ? from->full_name : ""),
			.system_name = "",
			.file = (char *)from->file,
			.start_line = has_symbol ? 1 : 0,
		};
		profile->lines[i] = (struct profile_line){ i, from->line };
		profile->locations[i] = (struct profile_location){
			.address = base + i * UINT64_C(0x100000) + (uint64_t)from->line - 0x1000,
			.module = UINT32_MAX,
			.mapping = i,
			.first_line = i,
			.line_count = has_symbol,
			.is_allocator = from->class == FRAME_ALLOCATOR,
		};
		named->places[i] = (struct code_place){
			.name = from->name,
			.full_name = has_symbol ? from->full_name : from->name,
			.file = from->file,
			.module = from->module,
			.line = has_symbol ? from->line : 0,
			.function = has_symbol ? i : UINT32_MAX,
			.judgement = { .class = from->class, .why = "" },
		};
		named->first_place[i] = named->location_places[i] = i;
	}
	named->first_place[place_count] = (uint32_t)place_count;
	for (size_t i = 0; i < sample_count; i++) {
		struct profile_sample *sample = &profile->samples[profile->sample_count++];

		*sample = (struct profile_sample){
			.first_frame = (uint32_t)profile->frame_count,
			.values = { .alloc_objects = samples[i].alloc_objects,
				    .alloc_bytes = samples[i].alloc_bytes,
				    .live_objects = samples[i].live_objects,
				    .live_bytes = samples[i].live_bytes,
				    .live_records = 1,
				    .live_objects_variance = samples[i].variance / 100,
				    .live_bytes_variance = samples[i].variance },
		};
		for (const char *place = samples[i].stack; *place; place++, sample->frame_count++)
			profile->frames[profile->frame_count++] = (uint32_t)(*place - 'a');
		profile_values_add(&profile->total, &sample->values);
	}
}

static void hand_free(struct hand_profile *hand)
{
	free(hand->profile.mappings);
	free(hand->profile.functions);
	free(hand->profile.lines);
	free(hand->profile.locations);
	free(hand->profile.frames);
	free(hand->profile.samples);
	free(hand->named.places);
	free(hand->named.first_place);
	free(hand->named.location_places);
	*hand = (struct hand_profile){ 0 };
}

// A small service. Two lines of one function, code without a symbol, and a name that two files have.
static const struct hand_place service_places[] = {
	{ "malloc", "malloc", "", 0, "libc.so.6", FRAME_ALLOCATOR },                                    // a
	{ "vector::push_back", "std::vector<int>::push_back", "vector.h", 99, "app", FRAME_CONTAINER }, // b
	{ "Cache::put", "Cache::put(int)", "cache.cpp", 18, "app", FRAME_OWN },                         // c
	{ "Cache::put", "Cache::put(int)", "cache.cpp", 25, "app", FRAME_OWN },                         // d
	{ "serve", "serve(int)", "serve.cpp", 7, "app", FRAME_OWN },                                    // e
	{ "main", "main", "main.cpp", 3, "app", FRAME_OWN },                                            // f
	{ "libz.so+0x2010", NULL, "", 0x2010, "libz.so", FRAME_UNKNOWN },                               // g
	{ "serve", "serve(int)", "other.cpp", 70, "app", FRAME_OWN },                                   // h
};

#define SERVICE_PLACES (sizeof(service_places) / sizeof(service_places[0]))

// live bytes: 216 in 24 blocks
static const struct hand_sample service_samples[] = {
	{ "abcef", 100, 10, 1000, 100, 900 },
	{ "adef", 50, 5, 50, 5, 400 },
	{ "aef", 20, 2, 4000, 1, 0 },
	{ "agf", 30, 3, 30, 3, 2500 },
	{ "aefef", 8, 1, 8, 1, 0 },
	{ "a", 4, 1, 4, 1, 0 },
	{ "", 2, 1, 2, 1, 0 },
	{ "ahf", 2, 1, 2, 1, 0 },
};

#define SERVICE_SAMPLES (sizeof(service_samples) / sizeof(service_samples[0]))

#endif
