// SPDX-License-Identifier: Apache-2.0
#include "lib/dump.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "lib/profile_writer.h"
#include "proto/page/page.h"
#include "snapshot/snapshot.h"

#include <stdlib.h>

void hs_dump_result_deinit(struct hs_dump_result *result)
{
	profile_view_deinit(&result->view);
	heap_profile_deinit(&result->profile);
	*result = (struct hs_dump_result){ 0 };
}

static void describe_timing(const struct snapshot_timing *timing, struct hs_dump_result *result)
{
	result->stopped_ns = timing->stopped_ns;
	result->copy_ns = timing->copy_ns;
	result->symbolize_ns = timing->symbolize_ns;
}

// Once: what is shown and the page are made of the same.
static struct hs_error *look(const struct hs_dump_options *options, struct hs_dump_result *result)
{
	return options->view.rules ? profile_view_make_of(&result->profile, &options->view, &result->view) : NULL;
}

// `writer` is open if a file is wanted, and is closed.
static struct hs_error *write_copy(struct heap_copy *copy, const struct hs_dump_options *options,
				   struct profile_writer *writer, struct hs_dump_result *ret)
{
	const struct symbol_options symbols = { options->no_cache, options->debuginfod };
	struct snapshot_timing timing;
	struct hs_error *error = heap_copy_digest(copy, &symbols, &ret->profile, &timing);

	if (error) {
		*ret = (struct hs_dump_result){ 0 };
		return error;
	}
	describe_timing(&timing, ret);
	ret->profile.peak_looks = options->peak_looks;
	error = look(options, ret);
	if (!error && options->output)
		error = profile_writer_write(
			writer,
			&(struct profile_writing){ .profile = &ret->profile,
						   .named = options->view.rules ? &ret->view.named : NULL,
						   .errors = options->errors },
			&ret->file_bytes);
	if (error)
		hs_dump_result_deinit(ret);
	return error;
}

static struct hs_error *write_profile(struct profile_writer *writer, const struct named_profile *named,
				      const struct hs_dump_options *options, const struct hs_story *story,
				      uint64_t *bytes_ret)
{
	const size_t count = story ? story->point_count : 0;
	HS_CLEANUP_FREE struct page_point *points = calloc(count + 1, sizeof(*points));
	const struct profile_writing writing = { .profile = named->profile,
						 .named = named,
						 .errors = options->errors,
						 .verdict = story ? story->verdict : NULL,
						 .series = points,
						 .series_count = count };

	if (!points)
		return &hs_error_no_memory;
	for (size_t i = 0; i < count; i++)
		points[i] =
			(struct page_point){ story->points[i].seconds, story->points[i].rss, story->points[i].live };
	return profile_writer_write(writer, &writing, bytes_ret);
}

struct hs_error *hs_dump_write(const struct named_profile *named, const struct hs_dump_options *options,
			       const struct hs_story *story, uint64_t *bytes_ret)
{
	struct profile_writer writer;
	struct hs_error *error = profile_writer_open(options->output, options->format, &writer);

	*bytes_ret = 0;
	if (!error && options->output)
		error = write_profile(&writer, named, options, story, bytes_ret);
	profile_writer_discard(&writer);
	return error;
}

struct hs_error *hs_dump(const struct process *process, const struct hs_dump_options *options,
			 struct hs_dump_result *ret)
{
	struct heap_copy *copy = NULL;
	struct profile_writer writer;
	uint64_t began = hs_monotonic_ns();
	// The file first: an output that cannot be written must not cost the target a stop.
	struct hs_error *error = profile_writer_open(options->output, options->format, &writer);

	*ret = (struct hs_dump_result){ 0 };
	if (error)
		return error;
	error = heap_copy_take(process, options->stop ? HEAP_COPY_STOPPED : HEAP_COPY_RUNNING, &copy);
	if (!error)
		error = heap_copy_select(copy, process, &options->blocks);
	if (!error)
		error = write_copy(copy, options, &writer, ret);
	heap_copy_destroy(copy);
	profile_writer_discard(&writer);
	ret->total_ns = error ? 0 : hs_monotonic_ns() - began;
	return error;
}

struct hs_error *hs_dump_copied(struct heap_copy *copy, const struct hs_dump_options *options,
				struct hs_dump_result *ret)
{
	struct profile_writer writer;
	uint64_t began = hs_monotonic_ns();
	struct hs_error *error = profile_writer_open(options->output, options->format, &writer);

	*ret = (struct hs_dump_result){ 0 };
	if (error)
		return error;
	error = write_copy(copy, options, &writer, ret);
	ret->profile.is_from_start = !error && options->from_start;
	profile_writer_discard(&writer);
	ret->total_ns = error ? 0 : hs_monotonic_ns() - began;
	return error;
}

struct hs_error *hs_dump_check_output(const char *path, enum profile_format format)
{
	struct profile_writer writer;
	struct hs_error *error = profile_writer_open(path, format, &writer);

	if (!error)
		profile_writer_discard(&writer);
	return error;
}
