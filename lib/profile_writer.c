// SPDX-License-Identifier: Apache-2.0
#include "lib/profile_writer.h"

#include "base/cleanup.h"
#include "proto/gzip_file.h"
#include "proto/output_stream.h"
#include "proto/page/page.h"
#include "proto/pprof/pprof_encoder.h"
#include "proto/stacks/collapsed.h"
#include "proto/stacks/profile_json.h"
#include "proto/stacks/speedscope_json.h"
#include "proto/stacks/text_report.h"
#include "views/completeness.h"
#include "views/drop_frames.h"
#include "views/sites.h"

struct hs_error *profile_writer_open(const char *path, enum profile_format format, struct profile_writer *ret)
{
	*ret = (struct profile_writer){ .format = PROFILE_PPROF };
	if (!path)
		return NULL;
	ret->format = format == PROFILE_BY_NAME ? profile_format_of(path) : format;
	if (ret->format == PROFILE_PAGE && !page_is_built())
		return hs_error_create(HS_ERROR_REFUSED,
				       "this heapsnap was built without its page, so %s cannot be written: build it "
				       "where npm is, or write a profile for pprof (out.pb.gz)",
				       path);
	return output_file_create(path, &ret->file);
}

// Of all stacks: what --focus leaves out is not missing from a file.
static struct hs_error *write_page(struct profile_writer *writer, const struct profile_writing *what,
				   uint64_t *size_ret)
{
	const struct page_options page = { .compared_with = what->compared_with,
					   .verdict = what->verdict,
					   .series = what->series,
					   .series_count = what->series_count };
	HS_CLEANUP_FREE char *data = NULL;
	struct site_list sites;
	size_t size = 0;
	struct hs_error *error = sites_make(what->named, &sites);

	if (error)
		return error;
	error = page_encode(what->named, &sites, &page, &data, &size);
	sites_deinit(&sites);
	if (!error)
		error = output_file_write(&writer->file, data, size);
	*size_ret = size;
	return error ? error : output_file_commit(&writer->file);
}

static struct hs_error *write_pprof(struct profile_writer *writer, const struct profile_writing *what,
				    uint64_t *size_ret)
{
	struct pprof_options encoding = { .errors = what->errors };
	HS_CLEANUP_FREE uint8_t *data = NULL;
	HS_CLEANUP_FREE char *truth = NULL;
	struct drop_frames frames = { .drop = NULL };
	size_t size = 0;
	bool is_complete;
	struct hs_error *error = what->compared_with ? NULL : completeness_text(what->profile, &is_complete, &truth);

	if (!error && what->named)
		error = drop_frames_make(what->named, &frames);
	encoding.truth = truth;
	encoding.drop_frames = frames.drop;
	encoding.keep_frames = frames.keep;
	if (!error)
		error = pprof_encode(what->profile, &encoding, &data, &size);
	drop_frames_deinit(&frames);
	return error ? error : output_file_commit_gzip(&writer->file, data, size, size_ret);
}

static struct hs_error *write_text(struct profile_writer *writer, const struct profile_writing *what,
				   uint64_t *size_ret)
{
	struct output_stream stream;
	struct hs_error *error = output_stream_open(&writer->file, &stream), *closing;

	if (error)
		return error;
	if (writer->format == PROFILE_JSON)
		error = profile_json_write(what->named, what->compared_with, stream.stream);
	else if (writer->format == PROFILE_SPEEDSCOPE)
		error = speedscope_json_write(what->named, stream.stream);
	else if (writer->format == PROFILE_TEXT)
		error = text_report_write(what->named, stream.stream);
	else
		error = collapsed_write(what->named, stream.stream);
	closing = output_stream_close(&stream, size_ret);
	if (error)
		hs_error_destroy(closing);
	else
		error = closing;
	return error ? error : output_file_commit(&writer->file);
}

static struct hs_error *write_as(struct profile_writer *writer, const struct profile_writing *what, uint64_t *size_ret)
{
	switch (writer->format) {
	case PROFILE_PAGE:
		return write_page(writer, what, size_ret);
	case PROFILE_COLLAPSED:
	case PROFILE_SPEEDSCOPE:
		if (what->compared_with)
			return hs_error_create(
				HS_ERROR_REFUSED,
				"a difference has values below 0, which neither collapsed stacks nor "
				"speedscope's files can have; other formats can: .pb.gz, .json, .html, .txt");
		return write_text(writer, what, size_ret);
	case PROFILE_JSON:
	case PROFILE_TEXT:
		return write_text(writer, what, size_ret);
	default:
		return write_pprof(writer, what, size_ret);
	}
}

struct hs_error *profile_writer_write(struct profile_writer *writer, const struct profile_writing *what,
				      uint64_t *size_ret)
{
	return write_as(writer, what, size_ret);
}

void profile_writer_discard(struct profile_writer *writer) { output_file_discard(&writer->file); }
