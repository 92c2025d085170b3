// SPDX-License-Identifier: Apache-2.0
#include "lib/dump.h"

#include "base/clock.h"
#include "proto/gzip_file.h"
#include "proto/pprof/pprof_encoder.h"
#include "snapshot/profile/top_sites.h"
#include "snapshot/snapshot.h"

#include <stdlib.h>

enum { CALLERS_KEPT = 3 };

void hs_dump_result_deinit(struct hs_dump_result *result)
{
	for (size_t i = 0; i < result->site_count; i++) {
		free(result->sites[i].function);
		free(result->sites[i].callers);
	}
	free(result->sites);
	heap_profile_deinit(&result->profile);
	*result = (struct hs_dump_result){ 0 };
}

// Where none of a site's blocks is live, those tell their size that were freed.
static uint64_t objects_error(const struct heap_profile *profile, const struct heap_site *site)
{
	bool is_live = site->values.live_objects > 0;

	return profile_objects_error(profile, site->values.live_objects_variance,
				     is_live ? site->values.live_objects : site->values.alloc_objects,
				     is_live ? site->values.live_bytes : site->values.alloc_bytes);
}

// Takes the function's name over.
static struct hs_error *describe_site(const struct heap_profile *profile, struct heap_site *site,
				      struct hs_dump_site *ret)
{
	*ret = (struct hs_dump_site){
		.function = site->function,
		.file = site->file,
		.line = site->line,
		.live_objects = site->values.live_objects,
		.live_bytes = site->values.live_bytes,
		.alloc_objects = site->values.alloc_objects,
		.alloc_bytes = site->values.alloc_bytes,
		.live_records = site->values.live_records,
		.live_objects_error = objects_error(profile, site),
		.live_bytes_error = profile_bytes_error(profile, site->values.live_bytes_variance),
	};
	site->function = NULL;
	return heap_site_callers(profile, site, CALLERS_KEPT, " < ", &ret->callers);
}

static struct hs_error *describe_sites(struct hs_dump_result *result)
{
	struct heap_site *sites;
	size_t count;
	struct hs_error *error = heap_sites_make(&result->profile, &sites, &count);

	if (error)
		return error;
	result->sites = calloc(count + 1, sizeof(*result->sites));
	if (!result->sites)
		error = &hs_error_no_memory;
	while (result->site_count < count && !error) {
		struct hs_dump_site *site = &result->sites[result->site_count];

		error = describe_site(&result->profile, &sites[result->site_count++], site);
	}
	heap_sites_free(sites, count);
	return error;
}

static void describe_totals(const struct snapshot_timing *timing, struct hs_dump_result *result)
{
	const struct heap_profile *profile = &result->profile;

	result->live_objects_error = profile_objects_error(profile, profile->total.live_objects_variance,
							   profile->total.live_objects, profile->total.live_bytes);
	result->live_bytes_error = profile_bytes_error(profile, profile->total.live_bytes_variance);
	result->stopped_ns = timing->stopped_ns;
	result->copy_ns = timing->copy_ns;
	result->symbolize_ns = timing->symbolize_ns;
}

static struct hs_error *write_profile(const struct hs_dump_options *options, struct output_file *file,
				      struct hs_dump_result *result)
{
	const struct pprof_options encoding = { .errors = options->errors };
	uint8_t *data = NULL;
	size_t size = 0;
	struct hs_error *error = pprof_encode(&result->profile, &encoding, &data, &size);

	if (error) {
		output_file_discard(file);
		return error;
	}
	error = output_file_commit_gzip(file, data, size, &result->file_bytes);
	free(data);
	return error;
}

struct hs_error *hs_dump(const struct process *process, const struct hs_dump_options *options,
			 struct hs_dump_result *ret)
{
	struct snapshot_timing timing;
	struct output_file file;
	uint64_t began = hs_monotonic_ns();
	// The file first: an output that cannot be written must not cost the target a stop.
	struct hs_error *error = output_file_create(options->output, &file);

	*ret = (struct hs_dump_result){ 0 };
	if (error)
		return error;
	error = snapshot_take(process, options->stop, &ret->profile, &timing);
	if (error) {
		output_file_discard(&file);
		*ret = (struct hs_dump_result){ 0 };
		return error;
	}
	describe_totals(&timing, ret);
	error = describe_sites(ret);
	if (error)
		output_file_discard(&file);
	else
		error = write_profile(options, &file, ret);
	ret->total_ns = hs_monotonic_ns() - began;
	if (error)
		hs_dump_result_deinit(ret);
	return error;
}
