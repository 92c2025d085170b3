// SPDX-License-Identifier: Apache-2.0
#include "lib/diff.h"

#include "lib/profile_writer.h"
#include "lib/read_profile.h"

void hs_diff_result_deinit(struct hs_diff_result *result)
{
	profile_view_deinit(&result->view);
	profile_view_deinit(&result->new_view);
	profile_view_deinit(&result->old_view);
	profile_diff_deinit(&result->difference);
	heap_profile_deinit(&result->new);
	heap_profile_deinit(&result->old);
	*result = (struct hs_diff_result){ 0 };
}

static struct hs_error *read_sides(const struct hs_diff_options *options, struct hs_diff_result *result)
{
	struct hs_error *error = hs_read_profile(options->old_path, &result->old);

	if (!error)
		error = hs_read_profile(options->new_path, &result->new);
	return error;
}

// A difference by what one of the two does not say would be all that it holds.
static struct hs_error *check_labels(const struct hs_diff_options *options, const struct hs_diff_result *result)
{
	const char *name = options->by ? options->by->name : "";
	const bool old_says = !options->by || attribute_is_said(options->by, &result->old),
		   new_says = !options->by || attribute_is_said(options->by, &result->new);

	if (old_says && new_says)
		return NULL;
	return hs_error_create(HS_ERROR_NOT_FOUND,
			       "%s %s the %s of its blocks: write both with dump --labels %s; of these, rows can be by "
			       "site, function, line, file or module",
			       old_says   ? options->new_path
			       : new_says ? options->old_path
					  : "neither profile",
			       old_says || new_says ? "does not say" : "says", name, name);
}

static struct hs_error *look(const struct hs_diff_options *options, struct hs_diff_result *result)
{
	struct hs_error *error = profile_view_make_of(&result->old, &options->view, &result->old_view);

	if (!error)
		error = profile_view_make_of(&result->new, &options->view, &result->new_view);
	if (!error)
		error = profile_diff_make_by(&result->old, &result->new, options->by ? attribute_label(options->by) : 0,
					     &result->difference);
	if (!error)
		error = profile_view_make_of(&result->difference.profile, &options->view, &result->view);
	return error;
}

static struct hs_error *write_difference(const struct hs_diff_options *options, struct profile_writer *writer,
					 struct hs_diff_result *result)
{
	const struct profile_writing writing = {
		.profile = &result->difference.profile,
		.named = &result->view.named,
		.compared_with = options->old_path,
		.errors = result->difference.profile.is_estimate, // else who reads it would have to assume them
	};

	return profile_writer_write(writer, &writing, &result->file_bytes);
}

struct hs_error *hs_diff(const struct hs_diff_options *options, struct hs_diff_result *ret)
{
	struct profile_writer writer = { 0 };
	struct hs_error *error;

	*ret = (struct hs_diff_result){ 0 };
	error = read_sides(options, ret);
	if (!error)
		error = check_labels(options, ret);
	if (!error)
		error = look(options, ret);
	if (!error)
		error = profile_writer_open(options->output, options->format, &writer);
	if (!error && options->output)
		error = write_difference(options, &writer, ret);
	profile_writer_discard(&writer);
	if (error)
		hs_diff_result_deinit(ret);
	return error;
}
