// SPDX-License-Identifier: Apache-2.0
#include "views/survivors.h"

#include <stdlib.h>
#include <string.h>

static bool has_live(const struct profile_values *values)
{
	return values->live_bytes != 0 || values->live_objects != 0;
}

// Of one attach: by what it counts itself, since the clock may have been set meanwhile.
static bool is_before(const struct heap_profile *a, const struct heap_profile *b)
{
	if (a->cut.epoch && b->cut.epoch)
		return a->cut.epoch < b->cut.epoch;
	if (a->cut.ticks && b->cut.ticks)
		return a->cut.ticks < b->cut.ticks;
	return a->time_ns < b->time_ns;
}

// NULL = nothing is in the way.
static const char *obstacle(const struct heap_profile *old, const struct heap_profile *new)
{
	if (!old->cut.session || !new->cut.session)
		return "a file does not say of which attach it is: both are to be of this version's heapsnap dump";
	if (old->is_difference || new->is_difference || old->selection || new->selection)
		return "a file has a difference or a part of the blocks alone: take two whole dumps";
	if (old->cut.session != new->cut.session)
		return "the two are of different attaches, so no block of the first can be known again in the second";
	if (!old->cut.epoch)
		return "the earlier dump has stopped the process, so blocks are not told by it: take one without --stop";
	if (is_before(new, old))
		return "the second is older than the first: give the earlier dump first";
	for (size_t i = 0; i < new->sample_count; i++)
		if (has_live(&new->samples[i].values) && !new->samples[i].labels.epoch)
			return "the second does not say before which dump its blocks were allocated: write it with "
			       "heapsnap dump --labels dump";
	return NULL;
}

// Of blocks that are live, what was allocated is at least that; of others nothing is known.
static void keep_live(struct profile_values *values)
{
	values->alloc_bytes = values->live_bytes;
	values->alloc_objects = values->live_objects;
	values->temporary_objects = 0;
}

struct hs_error *survivors_keep(const struct heap_profile *old, struct heap_profile *new)
{
	const char *why = obstacle(old, new);
	struct profile_values total = { 0 };
	size_t count = 0;
	char *selection;

	if (why)
		return hs_error_create(HS_ERROR_BAD_DATA, "%s", why);
	selection = strdup("of the first dump that are still live");
	if (!selection)
		return &hs_error_no_memory;
	for (size_t i = 0; i < new->sample_count; i++) {
		struct profile_sample sample = new->samples[i];

		if (!has_live(&sample.values) || sample.labels.epoch >= old->cut.epoch)
			continue;
		keep_live(&sample.values);
		profile_values_add(&total, &sample.values);
		new->samples[count++] = sample;
	}
	new->sample_count = count;
	new->recorded = new->total;
	new->total = total;
	new->selection = selection;
	new->has_temporaries = false;
	return NULL;
}
