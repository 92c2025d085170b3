// SPDX-License-Identifier: Apache-2.0
// A profile's file as bytes: read from a name or from standard input, and decompressed where it is a gzip.
#ifndef HEAPSNAP_PROTO_PROFILE_FILE_H
#define HEAPSNAP_PROTO_PROFILE_FILE_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct profile_file_limits {
	size_t size;    // bytes, before and after decompression
	int silence_ms; // for which the writer of a named pipe may pause
};

// The largest profiles of real programs have some hundred megabytes.
#define PROFILE_FILE_LIMITS ((struct profile_file_limits){ (size_t)1 << 30, 60000 })

// `path` "-" is standard input. Only plain files and pipes are read (of standard input sockets, too); others are not
// even opened, since that alone makes some devices act. A name stands for what it leads to: /dev/stdin and the shell's
// <(command) for a pipe. Standard input is waited for as long as it takes.
//
// *ret is owned by the caller (free): *size_ret bytes, at least 1 and at most limits->size, as are those of the file
// itself. HS_ERROR_SYSTEM: it cannot be read; HS_ERROR_REFUSED: a directory, a device, a terminal; HS_ERROR_TIMEOUT:
// nobody writes into a named pipe; HS_ERROR_BAD_DATA: empty, too large, or a gzip that is damaged; HS_ERROR_NO_MEMORY.
// Each message begins with "cannot read <path>: ".
struct hs_error *profile_file_read(const char *path, const struct profile_file_limits *limits, uint8_t **ret,
				   size_t *size_ret) HS_MUST_CHECK;

#endif
