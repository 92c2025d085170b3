// SPDX-License-Identifier: Apache-2.0
// Called by arch/*/entry.S.
#ifndef HEAPSNAP_INJECT_HOOK_HOOKS_H
#define HEAPSNAP_INJECT_HOOK_HOOKS_H

#include "inject/arch/entry_frame.h"
#include "inject/payload.h"

// What a hook has left. entry.S has the numbers, too.
enum hook_outcome {
	HOOK_PASSES = 0,       // nothing: the original is to run without a frame of ours
	HOOK_DONE = 1,         // its caller's result
	HOOK_NOT_BEGUN = 2,    // a fast path, nothing: the slow path is to be taken
	HOOK_NOT_RECORDED = 3, // a fast path: what the original gave, the slow path is to do the rest
};

struct hook_result {
	uint64_t value;   // the result, or the block
	uint64_t outcome; // enum hook_outcome
};

// Arguments that a kind does not have are whatever the registers held.
#define X_HOOK(kind)                                                                                                   \
	struct hook_result hook_##kind(uint64_t a, uint64_t b, uint64_t c, const struct hook_island *island,           \
				       const struct entry_frame *frame) HS_HIDDEN;
X_HOOK(malloc)
X_HOOK(calloc)
X_HOOK(realloc)
X_HOOK(reallocarray)
X_HOOK(posix_memalign)
X_HOOK(memalign)
X_HOOK(new)
// The fast paths of some: of `frame` only fp and the return address are there. And what goes on where one ends with
// HOOK_NOT_RECORDED: `c` is the block, 0 when there is none.
X_HOOK(malloc_fast)
X_HOOK(malloc_made)
X_HOOK(calloc_fast)
X_HOOK(calloc_made)
X_HOOK(new_fast)
X_HOOK(new_made)
#undef X_HOOK

// By its number in a struct hook_layout; one that the function does not have is 0.
static inline uint64_t argument(const struct call_frame *frame, unsigned number)
{
	return number >= 1 && number <= HS_LAYOUT_ARGUMENTS ? frame->arguments[number - 1] : 0;
}

// Before free(block) runs; `place` is where its return address lies.
void hook_before_free(uint64_t block, uint64_t place, const struct hook_island *island) HS_HIDDEN;

// The generic kinds. They return whether the result stands in the frame; else the original is to run without a frame of
// ours.
bool hook_allocate(struct call_frame *frame) HS_HIDDEN;
bool hook_reallocate(struct call_frame *frame) HS_HIDDEN;
bool hook_resize(struct call_frame *frame) HS_HIDDEN;
// Before the original runs, always without a frame of ours.
void hook_release(struct call_frame *frame) HS_HIDDEN;
// Before a watched function runs, without a frame of ours, and where it returns, with the result in frame->before.
void hook_watched(struct call_frame *frame) HS_HIDDEN;
void hook_exit_point(struct call_frame *frame) HS_HIDDEN;

#endif
