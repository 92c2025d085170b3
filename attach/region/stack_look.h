// SPDX-License-Identifier: Apache-2.0
// The words of a stopped thread's stack, looked at for what leads into the payload. For inside.c.
#ifndef HEAPSNAP_ATTACH_REGION_STACK_LOOK_H
#define HEAPSNAP_ATTACH_REGION_STACK_LOOK_H

#include "attach/region/inside.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	LOOK_CHUNK = 65536, // bytes that are read at once
	// bytes of a stack that are kept for the walk; of one whose end is not known, that are looked at
	LOOK_KEPT_MAX = 1 << 20,
	LOOK_STACKS_MAX = 64, // of code that nested handlers on alternate stacks have interrupted
};

// What the words of a stack tell.
struct look {
	struct stack_span span;
	uint64_t start;   // span.low; or further up, where freezes before have shown that nothing below leads into the
			  // payload
	uint64_t end;     // [start, end) was looked at
	bool points;      // a word there points into the ranges
	bool points_deep; // one that does is not in the buffer
	bool is_interrupted; // one that does may be the pc of a signal frame: a handler will return into the payload
	bool is_whole;       // nothing of the stack was left out
	bool is_limited;     // its end is not known, and all was there as far as it was looked at
	bool is_cut;         // the share was spent
	size_t kept;         // bytes from `start` on that stand in the buffer
	bool is_remembered;  // for later freezes
	uint64_t floor;      // where the stack begins, or the mapping that it is in
	uint64_t returns_to[LOOK_STACKS_MAX]; // stack pointers of code that handlers on alternate stacks have
					      // interrupted, in outer frames or on other stacks
	size_t returns;                       // how many; LOOK_STACKS_MAX: perhaps more
	uint64_t interrupted; // lowest such stack pointer below the thread's own, on the same stack: the handler's
			      // alternate stack is an array in an outer frame. span.low = none
	uint64_t *left; // of the search, the one that counts here
};

// Pure: whether one of these words points into the ranges; `size` in bytes.
bool look_words_point(const struct inside_search *search, const uint64_t *words, size_t size);

// From look->start on, in pieces: the first ones stay in the buffer, for the walk; all others take each other's place
// behind them.
// pre: span, start, left, floor and interrupted are set.
struct hs_error *look_at_stack(struct inside_search *search, struct look *look) HS_MUST_CHECK;

// All that handlers on alternate stacks will return to; each part may tell of further ones.
// *ret becomes true where one leads into the payload, or may. pre: look_at_stack.
struct hs_error *look_at_returns(struct inside_search *search, const struct frozen_thread *thread,
				 const struct slot_facts *slot, struct look *look, bool *ret) HS_MUST_CHECK;

#endif
