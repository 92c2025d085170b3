// SPDX-License-Identifier: Apache-2.0
#include "lib/profile_writer.h"

#include "base/cleanup.h"
#include "proto/gzip_file.h"
#include "proto/page/page.h"
#include "proto/pprof/pprof_encoder.h"

#include <string.h>

static bool is_page(const char *path)
{
	const char *end = strrchr(path, '.');

	return end && strcmp(end, ".html") == 0;
}

struct hs_error *profile_writer_open(const char *path, struct profile_writer *ret)
{
	*ret = (struct profile_writer){ 0 };
	if (!path)
		return NULL;
	ret->is_page = is_page(path);
	if (ret->is_page && !page_is_built())
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
	const struct page_options page = { .compared_with = what->compared_with };
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
	const struct pprof_options encoding = { .errors = what->errors };
	HS_CLEANUP_FREE uint8_t *data = NULL;
	size_t size = 0;
	struct hs_error *error = pprof_encode(what->profile, &encoding, &data, &size);

	return error ? error : output_file_commit_gzip(&writer->file, data, size, size_ret);
}

struct hs_error *profile_writer_write(struct profile_writer *writer, const struct profile_writing *what,
				      uint64_t *size_ret)
{
	return writer->is_page ? write_page(writer, what, size_ret) : write_pprof(writer, what, size_ret);
}

void profile_writer_discard(struct profile_writer *writer) { output_file_discard(&writer->file); }
