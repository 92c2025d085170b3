// SPDX-License-Identifier: Apache-2.0
// An output file as a stream, for formats that are written piece by piece: nothing is held but a buffer.
#ifndef HEAPSNAP_PROTO_OUTPUT_STREAM_H
#define HEAPSNAP_PROTO_OUTPUT_STREAM_H

#include "base/error.h"
#include "proto/output_file.h"

#include <stdint.h>
#include <stdio.h>

struct output_stream {
	FILE *stream;
	struct output_file *file; // borrowed
	struct hs_error *error;   // the first one of a write, owned
	uint64_t size;            // bytes so far
};

// *ret must stay where it is until it is closed; `file` stays the caller's. HS_ERROR_NO_MEMORY.
struct hs_error *output_stream_open(struct output_file *file, struct output_stream *ret) HS_MUST_CHECK;

// Writes what is left; what has failed since it was opened is returned. *size_ret: bytes of all. The file is neither
// committed nor discarded. HS_ERROR_SYSTEM, HS_ERROR_NO_MEMORY.
struct hs_error *output_stream_close(struct output_stream *stream, uint64_t *size_ret) HS_MUST_CHECK;

#endif
