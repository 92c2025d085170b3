// SPDX-License-Identifier: Apache-2.0
// A heap profile as a pprof profile.proto message (github.com/google/pprof, proto/pprof/profile.proto).
#ifndef HEAPSNAP_PROTO_PPROF_PPROF_ENCODER_H
#define HEAPSNAP_PROTO_PPROF_PPROF_ENCODER_H

#include "base/error.h"
#include "snapshot/heap_profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pprof_options {
	bool errors; // each sample says of how many recorded blocks its live values are made, and their standard errors
	// Borrowed; NULL = none.
	const char *truth;                     // a sentence on what is missing, for people
	const char *drop_frames, *keep_frames; // what pprof is to hide (views/drop_frames.h)
};

// *data_ret is owned by the caller (free): the uncompressed message, *size_ret bytes. HS_ERROR_NO_MEMORY is the only
// error. The profile is only read.
// Sample types alloc_objects/count, alloc_space/bytes, inuse_objects/count, inuse_space/bytes, default inuse_space;
// frames with is_allocator are left out while they are innermost (pprof_stacks.h); a sample without a frame is shown as
// "[stack unknown]"; numeric labels as the options say; program, pid, version, stop time, of estimates what is known of
// their errors, and what of the ledger is not 0, as at most five comments (pprof_comments.h).
struct hs_error *pprof_encode(const struct heap_profile *profile, const struct pprof_options *options,
			      uint8_t **data_ret, size_t *size_ret) HS_MUST_CHECK;

#endif
