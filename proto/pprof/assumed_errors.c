// SPDX-License-Identifier: Apache-2.0
#include "proto/pprof/assumed_errors.h"

#include "proto/pprof/comment_reader.h"

#include <math.h>
#include <stddef.h>

// At most, for an interval of 1 byte.
static double bytes_weight(const struct profile_values *values) { return fabs((double)values->live_bytes); }

static double objects_weight(const struct profile_values *values)
{
	double objects = fabs((double)values->live_objects);
	double size = objects > 0 ? fmax(bytes_weight(values) / objects, 1) : 1;

	return objects / size;
}

static double bounded(double variance) { return fmin(variance, pprof_variance(PPROF_ERROR_MAX)); }

// An error that is no larger than what the writer says at least: the variance itself was smaller.
static void lower(const struct heap_profile *profile, struct profile_values *values)
{
	const double interval = profile_interval(profile);
	const bool is_live = values->live_objects > 0;
	const uint64_t least_bytes = profile_bytes_error(profile, 0),
		       least_objects =
			       profile_objects_error(profile, 0, is_live ? values->live_objects : values->alloc_objects,
						     is_live ? values->live_bytes : values->alloc_bytes);

	if (profile_error(values->live_bytes_variance) <= least_bytes)
		values->live_bytes_variance = fmin(values->live_bytes_variance, bytes_weight(values) * interval);
	if (profile_error(values->live_objects_variance) <= least_objects)
		values->live_objects_variance = fmin(values->live_objects_variance, objects_weight(values) * interval);
}

static void assume(struct heap_profile *profile, bool total_has)
{
	double bytes_scale = profile_interval(profile), objects_scale = bytes_scale;
	double bytes = 0, objects = 0;

	for (size_t i = 0; i < profile->sample_count; i++) {
		bytes += bytes_weight(&profile->samples[i].values);
		objects += objects_weight(&profile->samples[i].values);
	}
	if (total_has && bytes > 0)
		bytes_scale = profile->total.live_bytes_variance / bytes;
	if (total_has && objects > 0)
		objects_scale = profile->total.live_objects_variance / objects;
	for (size_t i = 0; i < profile->sample_count; i++) {
		struct profile_values *values = &profile->samples[i].values;

		values->live_bytes_variance = bounded(bytes_weight(values) * bytes_scale);
		values->live_objects_variance = bounded(objects_weight(values) * objects_scale);
	}
}

void assumed_errors_apply(struct heap_profile *profile, bool samples_have, bool total_has)
{
	struct profile_values *total = &profile->total;

	if (!samples_have)
		assume(profile, total_has);
	for (size_t i = 0; i < profile->sample_count; i++) {
		struct profile_values *values = &profile->samples[i].values;

		if (samples_have)
			lower(profile, values);
		total->live_bytes_variance += total_has ? 0 : values->live_bytes_variance;
		total->live_objects_variance += total_has ? 0 : values->live_objects_variance;
	}
}

void assumed_errors_clear(struct heap_profile *profile)
{
	profile->total.live_bytes_variance = profile->total.live_objects_variance = 0;
	for (size_t i = 0; i < profile->sample_count; i++) {
		struct profile_values *values = &profile->samples[i].values;

		values->live_bytes_variance = values->live_objects_variance = 0;
	}
}
