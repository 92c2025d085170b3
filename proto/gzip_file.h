// SPDX-License-Identifier: Apache-2.0
// Files in gzip format, written and read. The only part that knows zlib.
#ifndef HEAPSNAP_PROTO_GZIP_FILE_H
#define HEAPSNAP_PROTO_GZIP_FILE_H

#include "base/error.h"
#include "proto/output_file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Compresses (gzip), writes and commits (output_file.h). On failure the temporary file is gone.
// *size_ret: compressed bytes. The output_file is closed in any case. `data` stays the caller's. HS_ERROR_SYSTEM: it
// cannot be written; HS_ERROR_REFUSED: what is there now may not be replaced; HS_ERROR_BAD_DATA: zlib fails;
// HS_ERROR_NO_MEMORY.
struct hs_error *output_file_commit_gzip(struct output_file *file, const void *data, size_t size,
					 uint64_t *size_ret) HS_MUST_CHECK;

// What the beginning of a gzip expands to: up to `room` bytes of it. Returns how many; 0 also where it is damaged.
size_t gzip_expand_beginning(const void *data, size_t size, uint8_t *ret, size_t room);

// Whether bytes begin as those of gzip do.
bool gzip_is(const void *data, size_t size);

// Decompresses a gzip of one or more members, one after the other; zeros behind the last one are padding. *ret is owned
// by the caller (free) and has *size_ret bytes, at most `limit`: it grows with what comes out, never ahead of it.
// HS_ERROR_BAD_DATA: damaged, cut short, no gzip, or more than `limit`; HS_ERROR_NO_MEMORY.
struct hs_error *gzip_expand(const void *data, size_t size, size_t limit, uint8_t **ret,
			     size_t *size_ret) HS_MUST_CHECK;

#endif
