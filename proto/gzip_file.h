// SPDX-License-Identifier: Apache-2.0
// Output files in gzip format. The only part that knows zlib.
#ifndef HEAPSNAP_PROTO_GZIP_FILE_H
#define HEAPSNAP_PROTO_GZIP_FILE_H

#include "base/error.h"
#include "proto/output_file.h"

#include <stddef.h>
#include <stdint.h>

// Compresses (gzip), writes and commits (output_file.h). On failure the temporary file is gone.
// *size_ret: compressed bytes. The output_file is closed in any case. `data` stays the caller's. HS_ERROR_SYSTEM: it
// cannot be written; HS_ERROR_REFUSED: what is there now may not be replaced; HS_ERROR_BAD_DATA: zlib fails;
// HS_ERROR_NO_MEMORY.
struct hs_error *output_file_commit_gzip(struct output_file *file, const void *data, size_t size,
					 uint64_t *size_ret) HS_MUST_CHECK;

#endif
