// SPDX-License-Identifier: Apache-2.0
// Called by arch/*/entry.S. Arguments that a kind does not have are whatever the registers held.
#ifndef HEAPSNAP_INJECT_HOOKS_H
#define HEAPSNAP_INJECT_HOOKS_H

#include "arch.h"
#include "payload.h"

#define X_HOOK(kind)                                                                               \
	uint64_t hook_##kind(uint64_t a, uint64_t b, uint64_t c, const struct hook_island *island, \
			     const struct entry_frame *frame) HS_HIDDEN;
X_HOOK(malloc)
X_HOOK(calloc)
X_HOOK(realloc)
X_HOOK(reallocarray)
X_HOOK(posix_memalign)
X_HOOK(memalign)
X_HOOK(pvalloc)
#undef X_HOOK

// Before free(block) runs; `frame_address` is where its return address lies.
void hook_before_free(uint64_t block, uint64_t frame_address) HS_HIDDEN;

#endif
