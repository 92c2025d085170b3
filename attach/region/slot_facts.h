// SPDX-License-Identifier: Apache-2.0
// What the payload keeps of each thread, as far as it says where that thread stands: all slots in use, read at once.
#ifndef HEAPSNAP_ATTACH_REGION_SLOT_FACTS_H
#define HEAPSNAP_ATTACH_REGION_SLOT_FACTS_H

#include "attach/ptrace/threads.h"
#include "attach/region/region_access.h"
#include "base/error.h"

#include <stdbool.h>

struct slot_facts {
	uint64_t thread_pointer;
	uint64_t guard; // where the thread's outermost hook left its return address, or HS_GUARD_WATCHES; 0 = none runs
	bool in_original;                         // that hook is in the original function, not in the recorder
	uint64_t stack_low, stack_high;           // [low, high), as the payload has recognised it; 0, 0 = unknown
	uint64_t left[HS_STABLE_LEFT_GUARDS_MAX]; // guards of hooks that were taken for abandoned, and may come back; 0
						  // = none
	bool is_of_several; // more than one thread has, or had, this thread pointer: what the slot says may be of
			    // another
	bool has_several;   // they have it now
};

struct slot_facts_list {
	struct slot_facts *items; // of threads that live, by thread pointer, ascending; owned
	size_t count, room;
	uint64_t *nobodys; // guards of hooks on stacks that are not a thread's own, which no living thread's slot has;
			   // as they were found, in any order, and perhaps more than once; owned
	size_t nobodys_count, nobodys_room;
	bool guards_lost; // there were more of them
};

// Of a region of any version. One read for each slot that was ever taken, none for the others, and the region's own
// list. pre: every thread in `frozen` is stopped.
struct hs_error *slot_facts_read(const struct region_access *region, const struct frozen_process *frozen,
				 struct slot_facts_list *ret) HS_MUST_CHECK;
void slot_facts_deinit(struct slot_facts_list *slots);

// Whether `guard` is the address of a return address; it may also say that a call is watched, or nothing
// (inject/hook/reentry.h). Pure.
static inline bool guard_is_place(uint64_t guard) { return guard % 8 == 0 && guard >= HS_PAGE_SIZE; }

// NULL = there is none.
const struct slot_facts *slot_facts_find(const struct slot_facts_list *slots, uint64_t thread_pointer);

#endif
