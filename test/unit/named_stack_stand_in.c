// SPDX-License-Identifier: Apache-2.0
// named_stack for tests that run where views is not built: the same, by its description in views/named_profile.h.
#include "views/named_profile.h"

size_t named_stack(const struct named_profile *named, const struct profile_sample *sample, uint32_t *buffer,
		   size_t room)
{
	const uint32_t *frames = named->profile->frames + sample->first_frame;
	uint32_t at = 0;
	size_t count = 0;

	while (at + 1 < sample->frame_count && named->profile->locations[frames[at]].is_allocator)
		at++;
	for (; at < sample->frame_count; at++)
		for (uint32_t i = named->first_place[frames[at]]; i < named->first_place[frames[at] + 1]; i++, count++)
			if (count < room)
				buffer[count] = named->location_places[i];
	return count;
}
