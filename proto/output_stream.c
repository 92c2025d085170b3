// SPDX-License-Identifier: Apache-2.0
#include "proto/output_stream.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/types.h>

static ssize_t write_to_file(void *cookie, const char *data, size_t size)
{
	struct output_stream *stream = cookie;

	if (!stream->error)
		stream->error = output_file_write(stream->file, data, size);
	if (stream->error) {
		errno = EIO;
		return 0; // of fopencookie's functions this one fails so
	}
	stream->size += size;
	return (ssize_t)size;
}

struct hs_error *output_stream_open(struct output_file *file, struct output_stream *ret)
{
	*ret = (struct output_stream){ .file = file };
	ret->stream = fopencookie(ret, "w", (cookie_io_functions_t){ .write = write_to_file });
	return ret->stream ? NULL : &hs_error_no_memory;
}

struct hs_error *output_stream_close(struct output_stream *stream, uint64_t *size_ret)
{
	const bool failed = ferror(stream->stream) != 0;
	const bool close_failed = fclose(stream->stream) != 0;

	*size_ret = stream->size;
	if (stream->error)
		return stream->error;
	// The stream's own buffer is all that it takes.
	return failed || close_failed ? &hs_error_no_memory : NULL;
}
