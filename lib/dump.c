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

static struct hs_error *encode_page(const struct heap_profile *profile, const struct frame_rules *rules,
				    const struct page_options *page, char **data_ret, size_t *size_ret)
{
	struct profile_view view;
	struct hs_error *error = profile_view_make(profile, rules, &view);

	if (error)
		return error;
	error = page_encode(&view.named, &view.sites, page, data_ret, size_ret);
	profile_view_deinit(&view);
	return error;
}

static struct hs_error *write_page(const struct heap_profile *profile, const struct hs_dump_options *options,
				   const struct hs_story *story, struct output_file *file, uint64_t *bytes_ret)
{
	const size_t count = story ? story->point_count : 0;
	HS_CLEANUP_FREE struct page_point *points = calloc(count + 1, sizeof(*points));
	const struct page_options page = { .verdict = story ? story->verdict : NULL,
					   .series = points,
					   .series_count = count };
	HS_CLEANUP_FREE char *data = NULL;
	struct hs_error *error;
	size_t size = 0;

	if (!points)
		return &hs_error_no_memory;
	for (size_t i = 0; i < count; i++)
		points[i] =
			(struct page_point){ story->points[i].seconds, story->points[i].rss, story->points[i].live };
	error = encode_page(profile, options->rules, &page, &data, &size);
	if (!error)
		error = output_file_write(file, data, size);
	*bytes_ret = size;
	return error ? error : output_file_commit(file);
}

static struct hs_error *write_pprof(const struct heap_profile *profile, const struct hs_dump_options *options,
				    struct output_file *file, uint64_t *bytes_ret)
{
	const struct pprof_options encoding = { .errors = options->errors };
	HS_CLEANUP_FREE uint8_t *data = NULL;
	size_t size = 0;
	struct hs_error *error = pprof_encode(profile, &encoding, &data, &size);

	return error ? error : output_file_commit_gzip(file, data, size, bytes_ret);
}

static struct hs_error *write_profile(const struct heap_profile *profile, const struct hs_dump_options *options,
				      const struct hs_story *story, struct output_file *file, uint64_t *bytes_ret)
{
	return is_page(options->output) ? write_page(profile, options, story, file, bytes_ret)
					: write_pprof(profile, options, file, bytes_ret);
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

struct hs_error *hs_dump_write(const struct heap_profile *profile, const struct hs_dump_options *options,
			       const struct hs_story *story, uint64_t *bytes_ret)
{
	struct output_file file;
	struct hs_error *error = open_output(options->output, &file);

	*bytes_ret = 0;
	if (!error && options->output)
		error = write_profile(profile, options, story, &file, bytes_ret);
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
		error = write_profile(&ret->profile, options, NULL, &file, &ret->file_bytes);
	output_file_discard(&file);
	ret->total_ns = hs_monotonic_ns() - began;
	if (error)
		hs_dump_result_deinit(ret);
	return error;
}
