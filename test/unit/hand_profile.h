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

// Aborts without memory.
static void hand_allocate(struct hand_profile *hand, size_t place_count, size_t sample_count, size_t frame_count)
{
	struct heap_profile *profile = &hand->profile;
	struct named_profile *named = &hand->named;

	*profile = (struct heap_profile){
		.mappings = calloc(place_count + 1, sizeof(*profile->mappings)),
		.functions = calloc(place_count + 1, sizeof(*profile->functions)),
		.lines = calloc(place_count + 1, sizeof(*profile->lines)),
		.locations = calloc(place_count + 1, sizeof(*profile->locations)),
		.frames = calloc(frame_count + 1, sizeof(*profile->frames)),
		.samples = calloc(sample_count + 1, sizeof(*profile->samples)),
		.period = 1,
	};
	*named = (struct named_profile){
		.profile = profile,
		.places = calloc(place_count + 1, sizeof(*named->places)),
		.first_place = calloc(place_count + 1, sizeof(*named->first_place)),
		.location_places = calloc(place_count + 1, sizeof(*named->location_places)),
	};
	if (!profile->mappings || !profile->functions || !profile->lines || !profile->locations || !profile->frames ||
	    !profile->samples || !named->places || !named->first_place || !named->location_places)
		abort();
}

static void hand_add_place(struct hand_profile *hand, const struct hand_place *from, uint64_t start)
{
	struct heap_profile *profile = &hand->profile;
	struct named_profile *named = &hand->named;
	const uint32_t i = (uint32_t)named->place_count++;
	const bool has_symbol = from->full_name != NULL;

	profile->mappings[profile->mapping_count++] = (struct profile_mapping){
		.start = start,
		.limit = start + 0x100000,
		.file_offset = 0x1000,
		.file = (char *)from->module,
		.build_id = "",
	};
	profile->functions[profile->function_count++] = (struct profile_function){
		.name = (char *)(has_symbol ? from->full_name : ""),
		.system_name = "",
		.file = (char *)from->file,
		.start_line = has_symbol ? 1 : 0,
	};
	profile->lines[profile->line_count++] = (struct profile_line){ i, from->line };
	profile->locations[profile->location_count++] = (struct profile_location){
		.address = start + (uint64_t)from->line - 0x1000,
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
	named->location_places[i] = i;
	named->first_place[i + 1] = i + 1;
}

static void hand_add_sample(struct hand_profile *hand, const struct hand_sample *from)
{
	struct heap_profile *profile = &hand->profile;
	struct profile_sample *sample = &profile->samples[profile->sample_count++];

	*sample = (struct profile_sample){
		.first_frame = (uint32_t)profile->frame_count,
		.values = { .alloc_objects = from->alloc_objects,
			    .alloc_bytes = from->alloc_bytes,
			    .live_objects = from->live_objects,
			    .live_bytes = from->live_bytes,
			    .live_records = 1,
			    .live_objects_variance = from->variance / 100,
			    .live_bytes_variance = from->variance },
	};
	for (const char *place = from->stack; *place; place++, sample->frame_count++)
		profile->frames[profile->frame_count++] = (uint32_t)(*place - 'a');
	profile_values_add(&profile->total, &sample->values);
}

// The texts are borrowed; the rest is freed by hand_free. Each place is in a mapping of its own, the first one at
// `base`: what a random address is.
static void hand_make(struct hand_profile *hand, const struct hand_place *places, size_t place_count,
		      const struct hand_sample *samples, size_t sample_count, uint64_t base)
{
	size_t frames = 0;

	for (size_t i = 0; i < sample_count; i++)
		frames += strlen(samples[i].stack);
	hand_allocate(hand, place_count, sample_count, frames);
	for (size_t i = 0; i < place_count; i++)
		hand_add_place(hand, &places[i], base + i * UINT64_C(0x100000));
	for (size_t i = 0; i < sample_count; i++)
		hand_add_sample(hand, &samples[i]);
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

#endif
