// SPDX-License-Identifier: Apache-2.0
// Named profiles made by hand, for tests of what is made of them: a place for each location, and stacks as texts.
#ifndef HEAPSNAP_TEST_UNIT_MADE_NAMED_H
#define HEAPSNAP_TEST_UNIT_MADE_NAMED_H

#include "views/named_profile.h"
#include "views/sites.h"

enum { MADE_PLACES_MAX = 4096, MADE_FRAMES_MAX = 4 << 20, MADE_SAMPLES_MAX = 1 << 17 };

// Location i has place i alone.
struct made_named {
	struct heap_profile profile;
	struct named_profile named;
	struct site_list sites;
	size_t frame_count, path_count;
};

// All memory is the caller's, by made_named_free. NULL without memory.
struct made_named *made_named_create(void);
void made_named_free(struct made_named *made);

// Returns the number of the new place. Texts are borrowed; NULL as full name: the same as `name`.
uint32_t made_place(struct made_named *made, const char *name, const char *full_name, const char *file, int64_t line,
		    const char *module, enum frame_class class);
// A stack of places, innermost first, that holds values. Returns the number of the sample.
uint32_t made_sample(struct made_named *made, const uint32_t *places, uint32_t count,
		     const struct profile_values *values);
// A site of that sample: its first own place, or its innermost one where there is none. `via` is borrowed.
void made_site(struct made_named *made, uint32_t sample, const char *via);

#endif
