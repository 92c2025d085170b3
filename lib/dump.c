// SPDX-License-Identifier: Apache-2.0
#include "lib/dump.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "proto/gzip_file.h"
#include "proto/page/page.h"
#include "proto/pprof/pprof_encoder.h"
#include "snapshot/snapshot.h"
#include "views/profile_view.h"

#include <string.h>

void hs_dump_result_deinit(struct hs_dump_result *result)
{
	heap_profile_deinit(&result->profile);
	*result = (struct hs_dump_result){ 0 };
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

static bool is_page(const char *path)
{
	const char *end = strrchr(path, '.');

	return end && strcmp(end, ".html") == 0;
}

static struct hs_error *write_page(const struct hs_dump_options *options, struct output_file *file,
				   struct hs_dump_result *result)
{
	const struct page_options page = { .title = NULL };
	HS_CLEANUP_FREE char *data = NULL;
	struct profile_view view;
	size_t size = 0;
	struct hs_error *error = profile_view_make(&result->profile, options->rules, &view);

	if (error)
		return error;
	error = page_encode(&view.named, &view.sites, &page, &data, &size);
	profile_view_deinit(&view);
	if (!error)
		error = output_file_write(file, data, size);
	result->file_bytes = size;
	return error ? error : output_file_commit(file);
}

static struct hs_error *write_pprof(const struct hs_dump_options *options, struct output_file *file,
				    struct hs_dump_result *result)
{
	const struct pprof_options encoding = { .errors = options->errors };
	HS_CLEANUP_FREE uint8_t *data = NULL;
	size_t size = 0;
	struct hs_error *error = pprof_encode(&result->profile, &encoding, &data, &size);

	return error ? error : output_file_commit_gzip(file, data, size, &result->file_bytes);
}

static struct hs_error *open_output(const char *path, struct output_file *ret)
{
	*ret = (struct output_file){ 0 };
	if (!path)
		return NULL;
	if (is_page(path) && !page_is_built())
		return hs_error_create(HS_ERROR_REFUSED,
				       "this heapsnap was built without its page, so %s cannot be written: build it "
				       "where npm is, or write a profile for pprof (out.pb.gz)",
				       path);
	return output_file_create(path, ret);
}

struct hs_error *hs_dump_try(const struct hs_dump_options *options)
{
	struct output_file file;
	struct hs_error *error = open_output(options->output, &file);

	output_file_discard(&file);
	return error;
}

struct hs_error *hs_dump(const struct process *process, const struct hs_dump_options *options,
			 struct hs_dump_result *ret)
{
	struct snapshot_timing timing;
	struct output_file file;
	uint64_t began = hs_monotonic_ns();
	// The file first: an output that cannot be written must not cost the target a stop.
	struct hs_error *error = open_output(options->output, &file);

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
	if (options->output)
		error = is_page(options->output) ? write_page(options, &file, ret) : write_pprof(options, &file, ret);
	output_file_discard(&file);
	ret->total_ns = hs_monotonic_ns() - began;
	if (error)
		hs_dump_result_deinit(ret);
	return error;
}
