// SPDX-License-Identifier: Apache-2.0
#include "proto/gzip_file.h"

#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

// zlib counts what it is given at once, and what it gives, in 32 bits.
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

bool gzip_is(const void *data, size_t size)
{
	const uint8_t *bytes = data;

	return size >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

size_t gzip_expand_beginning(const void *data, size_t size, uint8_t *ret, size_t room)
{
	z_stream stream = { .next_in = (Bytef *)(uintptr_t)data, // zlib only reads it
			    .avail_in = (uInt)(size < INPUT_BYTES_AT_ONCE ? size : INPUT_BYTES_AT_ONCE),
			    .next_out = ret,
			    .avail_out = (uInt)(room < INPUT_BYTES_AT_ONCE ? room : INPUT_BYTES_AT_ONCE) };
	const size_t most = stream.avail_out;

	if (inflateInit2(&stream, MAX_WBITS + GZIP_FORMAT) != Z_OK)
		return 0;
	(void)inflate(&stream, Z_SYNC_FLUSH); // as far as it goes
	inflateEnd(&stream);
	return most - stream.avail_out;
}

struct expansion {
	z_stream stream;
	const uint8_t *next; // input
	size_t left;         // of it, without what the stream has
	uint8_t *output;     // owned
	size_t size, room, limit;
};

static struct hs_error *refuse_bytes(const char *why)
{
	return hs_error_create(HS_ERROR_BAD_DATA, "%s; write or fetch the file again", why);
}

// At most one byte more than the limit, which shows that there are more.
static struct hs_error *make_room(struct expansion *expansion)
{
	size_t room = expansion->room ? expansion->room : OUTPUT_BYTES;
	uint8_t *bigger;

	if (expansion->size < expansion->room)
		return NULL;
	if (expansion->room)
		room = room <= expansion->limit / 2 ? 2 * room : expansion->limit + 1;
	bigger = realloc(expansion->output, room);
	if (!bigger)
		return &hs_error_no_memory;
	expansion->output = bigger;
	expansion->room = room;
	return NULL;
}

static void feed(struct expansion *expansion)
{
	size_t part = expansion->left < INPUT_BYTES_AT_ONCE ? expansion->left : INPUT_BYTES_AT_ONCE;

	if (expansion->stream.avail_in > 0)
		return;
	expansion->stream.next_in = (Bytef *)(uintptr_t)expansion->next; // zlib only reads it
	expansion->stream.avail_in = (uInt)part;
	expansion->next += part;
	expansion->left -= part;
}

static bool input_is_used_up(const struct expansion *expansion)
{
	return expansion->stream.avail_in == 0 && expansion->left == 0;
}

// Behind a member: the next one, or nothing but padding. *done_ret: nothing is left.
static struct hs_error *next_member(struct expansion *expansion, bool *done_ret)
{
	z_stream *stream = &expansion->stream;

	*done_ret = true;
	for (;;) {
		feed(expansion);
		if (input_is_used_up(expansion))
			return NULL;
		if (*stream->next_in != 0)
			break;
		stream->next_in++;
		stream->avail_in--;
	}
	*done_ret = false;
	return inflateReset(stream) == Z_OK ? NULL : refuse_bytes("zlib refuses its own state");
}

static struct hs_error *expand(struct expansion *expansion)
{
	z_stream *stream = &expansion->stream;

	for (bool done = false; !done;) {
		struct hs_error *error = make_room(expansion);
		size_t room = expansion->room - expansion->size;
		int result;

		if (error)
			return error;
		feed(expansion);
		room = room < INPUT_BYTES_AT_ONCE ? room : INPUT_BYTES_AT_ONCE;
		stream->next_out = expansion->output + expansion->size;
		stream->avail_out = (uInt)room;
		result = inflate(stream, Z_NO_FLUSH);
		expansion->size += room - stream->avail_out;
		if (expansion->size > expansion->limit)
			return hs_error_create(HS_ERROR_BAD_DATA,
					       "it expands to more than %zu bytes; no profile is that large",
					       expansion->limit);
		if (result == Z_STREAM_END)
			error = next_member(expansion, &done);
		else if (result == Z_MEM_ERROR)
			error = &hs_error_no_memory;
		else if (result == Z_BUF_ERROR ||
			 (result == Z_OK && stream->avail_out > 0 && input_is_used_up(expansion)))
			error = refuse_bytes("its compressed data is cut short");
		else if (result != Z_OK)
			error = refuse_bytes("its compressed data is damaged");
		if (error)
			return error;
	}
	return NULL;
}

struct hs_error *gzip_expand(const void *data, size_t size, size_t limit, uint8_t **ret, size_t *size_ret)
{
	struct expansion expansion = { .next = data, .left = size, .limit = limit };
	struct hs_error *error;

	if (inflateInit2(&expansion.stream, MAX_WBITS + GZIP_FORMAT) != Z_OK)
		return &hs_error_no_memory;
	error = expand(&expansion);
	inflateEnd(&expansion.stream);
	if (error) {
		free(expansion.output);
		return error;
	}
	*ret = expansion.output;
	*size_ret = expansion.size;
	return NULL;
}
