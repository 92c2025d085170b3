// SPDX-License-Identifier: Apache-2.0
// The stacks that a reader is shown: without the allocator's own innermost frames, each stack once for each number of
// samples per block and each combination of labels. Pure.
#ifndef HEAPSNAP_PROTO_PPROF_PPROF_STACKS_H
#define HEAPSNAP_PROTO_PPROF_PPROF_STACKS_H

#include "base/error.h"
#include "snapshot/heap_profile.h"

#include <stddef.h>
#include <stdint.h>

struct pprof_stack {
	const uint32_t *frames; // location indices, innermost first; into heap_profile.frames
	uint32_t frame_count;
	uint32_t samples_per_block; // as in struct profile_sample
	struct profile_labels labels;
	struct profile_values values;
};

// A stack of nothing but allocator frames keeps the outermost of them. Samples whose values are all 0 are left out;
// samples that show the same frames, number of samples per block and labels are added up (to INT64_MAX at most). In the
// order of the samples. *stacks_ret is owned by the caller (free); its frames are the profile's. HS_ERROR_NO_MEMORY.
struct hs_error *pprof_stacks_build(const struct heap_profile *profile, struct pprof_stack **stacks_ret,
				    size_t *count_ret) HS_MUST_CHECK;

#endif
