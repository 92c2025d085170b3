// SPDX-License-Identifier: Apache-2.0
#include "proto/gzip_file.h"

#include <stdint.h>
#include <zlib.h>

// zlib counts what it is given at once in 32 bits.
static const size_t INPUT_BYTES_AT_ONCE = (size_t)1 << 30;

enum { OUTPUT_BYTES = 1 << 16, MEMORY_LEVEL = 8, GZIP_FORMAT = 16 };

// Compresses until the input is used up, and with Z_FINISH until the end is written.
static struct hs_error *deflate_to_file(z_stream *stream, int flush, struct output_file *file)
{
	uint8_t buffer[OUTPUT_BYTES];

	do {
		stream->next_out = buffer;
		stream->avail_out = sizeof(buffer);
		if (deflate(stream, flush) == Z_STREAM_ERROR)
			return hs_error_create(HS_ERROR_BAD_DATA, "cannot compress %s: zlib refuses its own state",
					       file->path);

		struct hs_error *error = output_file_write(file, buffer, sizeof(buffer) - stream->avail_out);

		if (error)
			return error;
	} while (stream->avail_out == 0);
	return NULL;
}

static struct hs_error *write_gzip(struct output_file *file, const void *data, size_t size, uint64_t *size_ret)
{
	z_stream stream = { 0 };

	// The header has no name and no time: equal profiles are equal files.
	if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + GZIP_FORMAT, MEMORY_LEVEL,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return &hs_error_no_memory;

	struct hs_error *error = NULL;
	const uint8_t *next = data;
	size_t left = size;

	do {
		size_t part = left < INPUT_BYTES_AT_ONCE ? left : INPUT_BYTES_AT_ONCE;

		stream.next_in = (Bytef *)(uintptr_t)next; // zlib only reads it
		stream.avail_in = (uInt)part;
		next += part;
		left -= part;
		error = deflate_to_file(&stream, left ? Z_NO_FLUSH : Z_FINISH, file);
	} while (!error && left > 0);
	*size_ret = stream.total_out;
	deflateEnd(&stream);
	return error;
}

struct hs_error *output_file_commit_gzip(struct output_file *file, const void *data, size_t size, uint64_t *size_ret)
{
	struct hs_error *error = write_gzip(file, data, size, size_ret);

	if (!error)
		return output_file_commit(file);
	output_file_discard(file);
	return error;
}
