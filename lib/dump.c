// SPDX-License-Identifier: Apache-2.0
#include "lib/dump.h"

#include "base/clock.h"
#include "lib/profile_writer.h"
#include "snapshot/snapshot.h"

void hs_dump_result_deinit(struct hs_dump_result *result)
{
	profile_view_deinit(&result->view);
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

// Once: what is shown and the page are made of the same.
static struct hs_error *look(const struct hs_dump_options *options, struct hs_dump_result *result)
{
	return options->view.rules ? profile_view_make_of(&result->profile, &options->view, &result->view) : NULL;
}

// `writer` is open if a file is wanted, and is closed.
static struct hs_error *write_copy(struct heap_copy *copy, const struct hs_dump_options *options,
				   struct profile_writer *writer, struct hs_dump_result *ret)
{
	struct snapshot_timing timing;
	struct hs_error *error = heap_copy_digest(copy, &ret->profile, &timing);

	if (error) {
		*ret = (struct hs_dump_result){ 0 };
		return error;
	}
	describe_totals(&timing, ret);
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
