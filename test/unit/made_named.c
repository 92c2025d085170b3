// SPDX-License-Identifier: Apache-2.0
#include "made_named.h"

#include <stdlib.h>

struct made_named *made_named_create(void)
{
	struct made_named *made = calloc(1, sizeof(*made));
	uint32_t *identity = calloc(MADE_PLACES_MAX + 1, sizeof(*identity));

	if (!made || !identity) {
		free(made);
		free(identity);
		return NULL;
	}
	for (uint32_t i = 0; i <= MADE_PLACES_MAX; i++)
		identity[i] = i;
	made->profile.period = 1;
	made->profile.locations = calloc(MADE_PLACES_MAX, sizeof(*made->profile.locations));
	made->profile.frames = calloc(MADE_FRAMES_MAX, sizeof(*made->profile.frames));
	made->profile.samples = calloc(MADE_SAMPLES_MAX, sizeof(*made->profile.samples));
	made->named = (struct named_profile){
		.profile = &made->profile,
		.places = calloc(MADE_PLACES_MAX, sizeof(*made->named.places)),
		.first_place = identity,
		.location_places = identity,
	};
	made->sites.items = calloc(MADE_SAMPLES_MAX, sizeof(*made->sites.items));
	return made;
}

void made_named_free(struct made_named *made)
{
	if (!made)
		return;
	free(made->profile.locations);
	free(made->profile.frames);
	free(made->profile.samples);
	free(made->named.places);
	free(made->named.first_place);
	free(made->sites.items);
	free(made);
}

uint32_t made_place(struct made_named *made, const char *name, const char *full_name, const char *file, int64_t line,
		    const char *module, enum frame_class class)
{
	const size_t number = made->named.place_count;

	if (number == MADE_PLACES_MAX)
		abort();
	made->named.places[number] = (struct code_place){
		.name = name,
		.full_name = full_name ? full_name : name,
		.file = file,
		.module = module,
		.line = line,
		.function = UINT32_MAX,
		.judgement = { .class = class, .why = class == FRAME_OWN ? "no rule knows it" : "made by hand" },
	};
	made->named.place_count++;
	made->profile.location_count++;
	return (uint32_t)number;
}

uint32_t made_sample(struct made_named *made, const uint32_t *places, uint32_t count,
		     const struct profile_values *values)
{
	const size_t number = made->profile.sample_count;

	if (number == MADE_SAMPLES_MAX || made->profile.frame_count + count > MADE_FRAMES_MAX)
		abort();
	made->profile.samples[number] = (struct profile_sample){ .first_frame = (uint32_t)made->profile.frame_count,
								 .frame_count = count,
								 .values = *values };
	for (uint32_t i = 0; i < count; i++)
		made->profile.frames[made->profile.frame_count++] = places[i];
	made->profile.sample_count++;
	profile_values_add(&made->profile.total, values);
	return (uint32_t)number;
}

void made_site(struct made_named *made, uint32_t sample, const char *via)
{
	const struct profile_sample *of = &made->profile.samples[sample];
	const uint32_t *frames = made->profile.frames + of->first_frame;
	uint32_t at = 0;

	while (at < of->frame_count && made->named.places[frames[at]].judgement.class != FRAME_OWN)
		at++;
	made->sites.items[made->sites.count++] = (struct site){
		.path = of->frame_count ? &frames[at < of->frame_count ? at : 0] : NULL,
		.path_length = of->frame_count > 0,
		.is_own = at < of->frame_count,
		.via = (char *)(uintptr_t)via,
		.values = of->values,
		.sample = sample,
		.stack_count = 1,
	};
}
