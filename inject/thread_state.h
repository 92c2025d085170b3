// SPDX-License-Identifier: Apache-2.0
// What the payload keeps of one thread: the slot that begins with what the tool reads (struct shared_slot). All the
// rest is known to the payload alone, and may change without a new layout version.
#ifndef HEAPSNAP_INJECT_THREAD_STATE_H
#define HEAPSNAP_INJECT_THREAD_STATE_H

#include "inject/abi/region.h"

// One frame of a walk: the registers with which its rule was looked up.
struct walked_frame {
	uint64_t sp, pc, fp;
	uint32_t node;   // ref of the stack node of this frame and all outer ones
	uint16_t checks; // how many of the walk's checks belong to this frame and all outer ones
	uint16_t flags;  // enum walked_flags
};
_Static_assert(sizeof(struct walked_frame) == 32, "walked_frame is 32 bytes");

enum walked_flags {
	WALKED_FP_MATTERS = 1, // the rule of this frame or of an outer one reads fp
};

// A word of the stack that a walk has read: its frame and all outer ones are as they were while all of these words are.
struct walk_check {
	uint64_t address, value;
};
#define HS_WALK_CHECKS (2u * HS_DEPTH_MAX)

// A whole stack that a thread has walked, with every word that the walk has read: while the innermost frame's stack
// pointer and program counter and all of the words are what they were, a walk would end in the same node. Where the
// innermost frame's fp matters, it is one of the words: as the hook's entry has pushed it, below the stack pointer.
struct kept_words {
	uint64_t values[4];
	int16_t places[4]; // in words from the innermost frame's stack pointer
};
#define HS_KEPT_WORDS 12u
struct kept_stack {
	uint64_t sp; // of the innermost frame; 0 = nothing is kept here
	uint64_t pc;
	uint32_t node;
	uint16_t totals; // where in the thread's slot the node's entry of `totals` is, bytes
	// of the used `words`, bytes from the beginning of this struct. What fills up the last ones repeats a word
	uint16_t end;
	uint64_t reserved;
	struct kept_words words[HS_KEPT_WORDS];
};
#define HS_KEPT_STACKS 8u
_Static_assert(sizeof(struct kept_stack) * HS_KEPT_STACKS == HS_PAGE_SIZE, "the kept stacks fill a page");

// A thread's own free records; more go to a list that all threads share.
#define HS_FREE_KEPT 128u

// A watched call that a coroutine, it seems, has left during its function: what is needed where it returns after all.
struct awaited_call {
	uint64_t place, return_address; // where its return address lies, and that; 0 = none
	uint64_t size;                  // and so on: as `awaited_...` of the slot
	uint32_t interval;
	uint16_t samples;
	uint16_t reserved;
};
_Static_assert(sizeof(struct awaited_call) == 32, "awaited_call is 32 bytes");
#define HS_LEFT_AWAITED 4u

// Written by its own thread only, but for the key.
struct thread_slot {
	union {
		struct shared_slot shared;
		struct { // its `own_call`
			uint8_t before_call[offsetof(struct shared_slot, own_call)];
			uint32_t mark; // the word at the thread pointer plus `tid_offset`: other than it was = another
				       // thread
			// bytes until the next sample; while the thread has a sampling credit (struct sampling_credit),
			// that is where they are counted
			int64_t countdown;
			uint32_t thread;          // index into the thread history
			uint32_t ticks_left;      // exact allocations until the time-stamp counter is read again
			uint32_t kept_generation; // module generation of the kept stacks; 0 = there are none
			uint32_t free_count;      // used entries of `free_records`
			// the block of the last call that gave one back, and, from bit 48 on, the index of its hook
			uint64_t last_freed;
		};
		struct { // its `own_records`
			uint8_t before_records[offsetof(struct shared_slot, own_records)];
			// ref of the next never used record; where a page begins, or 0: there is none (page_is_used_up)
			uint32_t fresh_record;
			uint32_t fresh_node; // ref of the next never used stack node, likewise
			uint32_t spare_page; // a page that was taken and then not needed; 0 = none
			uint32_t hook;       // index of the outermost hook
		};
	};

	_Alignas(64) uint64_t random; // state of the thread's random numbers; 0 = not begun
	uint64_t ticks;               // of the time-stamp counter, as read last
	uint32_t walk_count;          // frames of the last walk; 0 = none that can be used again
	uint32_t sampling_generation; // of the settings that `interval` is from
	uint32_t draw_ticks;          // what drawing the gap behind the next record has cost
	uint32_t record_ticks;        // what recording one allocation has cost recently, ticks; 0 = not yet known
	uint64_t window_records;      // counter of allocations at the beginning of the window
	int64_t suspended;            // what the countdown was before the original of the outermost hook
	int64_t last_countdown;       // behind the last record, where that is a sample
	// ref of the record of the block that the thread has allocated last; 0 = it has none, or that was given back
	uint32_t last_record;

	_Alignas(64) uint64_t window_bytes; // counter of their bytes at its beginning
	uint64_t seen_bytes;                // of the window, where not all are recorded: the gaps that have ended
	int64_t gap_piece;                  // what `countdown` was when it or the window began
	int64_t gap_rest;                   // what is left of the gap when that has passed; 0 = there is the sample
	// recently, as samples say, times 256, without those that are recorded because they are large
	uint64_t estimated_calls;
	uint64_t estimated_bytes; // of these
	uint64_t watched_return_slot,
		watched_return; // of a call that passed and is watched: where its return address lay, and that
	uint64_t other_ticks;   // of the window, for downsampling
	uint64_t window_frees;  // counter of frees at its beginning
	uint64_t window_floor;  // `budget_floor` at its beginning; UINT64_MAX = records were being downsampled
	// Since `budget_floor` has changed, or half of that: ticks, and of these what false positives have taken.
	uint64_t searched_ticks, searched_spent;
	uint32_t releases;                // since the thread began, that the Bloom filter did not exclude; wraps
	uint32_t release_false_positives; // of the window, of these: blocks that were not recorded
	uint32_t large_records;           // of the window: recorded because they are as large as the interval
	uint32_t framed_calls;            // of the window: not recorded, in the C code all the same
	uint32_t release_ticks;           // what such a release has cost recently, ticks; 0 = not yet known
	uint32_t walk_generation;         // module generation of the last walk
	// SAMPLING_budget: ticks that may be spent at once, as of the beginning of the window; below 0: too many were
	int64_t credit;
	uint32_t timed_records;    // of the first recordings, which are all timed: how many
	uint32_t drawn_alone;      // blocks drawn by themselves, in turn, while the inline fast path of a call was
				   // interrupted
	uint64_t awaited_size;     // of the call at `watched_return_slot`, a watched function's: what was asked for...
	uint32_t awaited_interval; // ...and what was chosen when it began: the interval; 0 = it is not recorded
	uint16_t awaited_samples;  // samples in the block
	uint16_t awaits;           // 1 = its return is awaited

	_Alignas(64) uint32_t free_records[HS_FREE_KEPT]; // refs
	uint32_t next; // page where the next slot of the same hash begins; 0 = none. Written once, by compare-and-swap
	uint32_t doubted_calls; // while `doubted_guard` stood: calls further out on the stack than that
	uint64_t doubted_guard,
		doubted_at; // of a recorder that may have been left, and how many allocations were recorded then
	// the place of the hook or watched call that the last nested one was in, and what changes with each such call
	// (reentry.c)
	uint64_t nested_in, nested_at;
	uint32_t nested_calls;       // how many were nested in it
	uint32_t left_next;          // index into `left_guards` of the oldest
	uint32_t left_awaited_next;  // index into `left_awaited` of the oldest
	uint32_t left_awaited_count; // how many stand there
	// watched calls that others have displaced, on stacks that are not the thread's own
	struct awaited_call left_awaited[HS_LEFT_AWAITED];
	_Alignas(HS_PAGE_SIZE) struct walked_frame walk[HS_DEPTH_MAX]; // the last walk, outermost frame first
	struct walk_check checks[HS_WALK_CHECKS];                      // of the last walk, outermost frame's first
	struct walked_frame fresh[HS_DEPTH_MAX];                       // the walk being made, innermost frame first
	struct kept_stack kept[HS_KEPT_STACKS]; // only touched while every allocation is recorded
};
_Static_assert(sizeof(struct thread_slot) == HS_SLOT_STRIDE, "slots lie one behind the other");
_Static_assert(offsetof(struct thread_slot, mark) == offsetof(struct shared_slot, own_call) &&
		       offsetof(struct thread_slot, last_freed) + sizeof(uint64_t) ==
			       offsetof(struct shared_slot, pending),
	       "own_call: what a call without a record looks at is in one cache line");
_Static_assert(offsetof(struct thread_slot, fresh_record) == offsetof(struct shared_slot, own_records) &&
		       offsetof(struct thread_slot, hook) + sizeof(uint32_t) ==
			       offsetof(struct shared_slot, left_guards),
	       "own_records");
_Static_assert(offsetof(struct thread_slot, kept) % HS_PAGE_SIZE == 0, "kept_stack_neighbour");

// Where to look first for a stack, then in the neighbour: two share a kilobyte.
static inline struct kept_stack *kept_stack_at(const struct thread_slot *slot, uint64_t sp, uint64_t pc)
{
	uint32_t hash = (uint32_t)(sp ^ pc) * HS_HASH_FACTOR;

	return (struct kept_stack *)((uint64_t)slot->kept +
				     (hash >> 20 & (HS_KEPT_STACKS - 1) * sizeof(struct kept_stack)));
}

static inline struct kept_stack *kept_stack_neighbour(const struct kept_stack *kept)
{
	return (struct kept_stack *)((uint64_t)kept ^ sizeof(struct kept_stack));
}

_Static_assert(offsetof(struct thread_slot, left_awaited) + sizeof(struct awaited_call) * HS_LEFT_AWAITED <=
		       HS_PAGE_SIZE,
	       "what is not of walks is in the first page");

#endif
