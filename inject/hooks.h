// SPDX-License-Identifier: Apache-2.0
// Called by arch/*/entry.S.
#ifndef HEAPSNAP_INJECT_HOOKS_H
#define HEAPSNAP_INJECT_HOOKS_H

#include "arch.h"
#include "payload.h"

// What a hook leaves: its caller's result; or, when `done` is 0, nothing, and the original is to run without a frame of ours.
struct hook_result {
	uint64_t value;
	uint64_t done;
};

// Arguments that a kind does not have are whatever the registers held.
#define X_HOOK(kind)                                                                                         \
	struct hook_result hook_##kind(uint64_t a, uint64_t b, uint64_t c, const struct hook_island *island, \
				       const struct entry_frame *frame) HS_HIDDEN;
X_HOOK(malloc)
X_HOOK(calloc)
X_HOOK(realloc)
X_HOOK(reallocarray)
X_HOOK(posix_memalign)
X_HOOK(memalign)
X_HOOK(new)
#undef X_HOOK

// Before free(block) runs; `place` is where its return address lies.
void hook_before_free(uint64_t block, uint64_t place, const struct hook_island *island) HS_HIDDEN;

// The general kinds. They return whether the result stands in the frame; else the original is to run without a frame of ours.
bool hook_allocate(struct call_frame *frame) HS_HIDDEN;
bool hook_reallocate(struct call_frame *frame) HS_HIDDEN;
bool hook_resize(struct call_frame *frame) HS_HIDDEN;
// Before the original runs, always without a frame of ours.
void hook_release(struct call_frame *frame) HS_HIDDEN;

#endif
