// SPDX-License-Identifier: Apache-2.0
// Calls of hooks that coroutines have left and that no living thread's slot names, by their guards: which of them lead
// into the payload still.
//
// They are listed in the first freeze, with all hooks out, that finds no thread inside. From then on the list only gets
// shorter. Nobody begins a call any more, so no word that leads into the payload is written but below a guard where one
// stands already: by a coroutine that goes on with its call. What was found clean stays so.
#ifndef HEAPSNAP_ATTACH_REGION_LEFT_CALLS_H
#define HEAPSNAP_ATTACH_REGION_LEFT_CALLS_H

#include "attach/region/inside.h"

// What one freeze may spend on them: bytes that are read, and what a read costs by itself.
#define HS_LEFT_CALLS_SHARE (UINT64_C(64) << 20)

// Zeroed = not listed yet.
struct left_calls {
	bool is_listed;
	uint64_t *guards; // ascending, each once; owned
	size_t count;
	size_t unseen; // the last so many were not looked at yet in this round; 0 = the next freeze begins another one
};

// Takes the guards of `slots`, in any order, and keeps each once. Does nothing where they are listed.
// pre: no thread is inside, and none is left to be looked at.
struct hs_error *left_calls_list(struct left_calls *calls, struct slot_facts_list *slots) HS_MUST_CHECK;
void left_calls_deinit(struct left_calls *calls);

// Looks at as many as the share allows, from the lowest on; the next freeze goes on with what is unseen then. Forgets
// those that are over, so that calls->count may still come back. Reads memory in pieces of up to 64 KiB, each with all
// guards in it. pre: they are listed; every thread is stopped. Asks nothing of the search's slots.
struct hs_error *left_calls_look(struct left_calls *calls, const struct inside_search *search,
				 uint64_t share) HS_MUST_CHECK;

#endif
