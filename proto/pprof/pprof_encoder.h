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
};

// *data_ret is owned by the caller (free): the uncompressed message, *size_ret bytes. HS_ERROR_NO_MEMORY is the only
// error. The profile is only read.
// Sample types alloc_objects/count, alloc_space/bytes, inuse_objects/count, inuse_space/bytes, default inuse_space;
// frames with is_allocator are left out while they are innermost (pprof_stacks.h); a sample without a frame is shown as
// "[stack unknown]"; numeric labels as the options say; ledger, program, pid, version and stop time as comments, lines
// of loss with "LOSS: " before them; of estimates the mean interval, the number of records and the totals' standard
// errors, too.
struct hs_error *pprof_encode(const struct heap_profile *profile, const struct pprof_options *options,
			      uint8_t **data_ret, size_t *size_ret) HS_MUST_CHECK;

#endif
