// SPDX-License-Identifier: Apache-2.0
// Where the frame of a remote call may lie: memory that is proven to be nobody's.
//
// A stack pointer proves nothing: code that blocks signals, or has no handlers, may use the register for data; a
// handler on an alternate stack may have live frames of the same thread below it; a coroutine's stack may end anywhere.
// What proves it: a page that the kernel never gave the process (or took back) holds nothing; and nothing can lie below
// the lowest point that a stack has ever reached. Whose stack a page is, the kernel ([stack], and where it may still
// grow) and the libc's control block (libc_stack.h) say.
//
//   higher addresses
//   | in use                  |
//   | ----------------------- | <- the lowest page that holds anything but zeros, or this stack's lowest stack pointer
//   | distance                |    for frames of calls that the stack's owner may still make while the tool dies
//   | ----------------------- | <- frame_room.top: the frame ends here
//   | never used              |
//   | ----------------------- | <- frame_room.low: the stack's lower end, or what is kept from there
//
// The bytes go back to zero after the calls. A killed tool's frame stays there, below all that the stack has ever
// reached. Pages that are all zero count as never used: so the next frame lies where the last one was, and the pages in
// use do not become more with each attach. But an array of zeros is data as well: a page that was never given must lie
// between them and what is in use. They count without one only where the stack has none, and all that is in use of it
// is seen to lie above the stack pointers: the owner stands in its stack (it is in no coroutine elsewhere), takes
// signals (so that the register is a stack pointer), and no signal frame above brings back a lower one (as that of a
// handler on an alternate stack that is an array on this stack).
#ifndef HEAPSNAP_ATTACH_PTRACE_FRAME_ROOM_H
#define HEAPSNAP_ATTACH_PTRACE_FRAME_ROOM_H

#include "attach/process/memory.h"
#include "attach/ptrace/threads.h"
#include "base/error.h"
#include "base/proc_maps.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Memory that no code uses, below `top`, down to `low`. top = 0: none.
struct frame_room {
	uint64_t low, top;
};

// How much of a stack is searched for signal frames, from the lowest stack pointer up, while every thread of the
// process stands. Where more is in use, there may be one in it.
#define FRAME_ROOM_SEARCHED (UINT64_C(1) << 20)

enum stack_page {
	STACK_PAGE_NEVER_USED, // the process has none there
	STACK_PAGE_ZERO,
	STACK_PAGE_USED,  // or nobody knows
	STACK_PAGE_GUARD, // cannot be read
};

// Pure. `pages`: from the stack's lower end up to what is in use in any case. `needs_gap`: the page that was never
// given, see above.
struct frame_room frame_room_choose(const enum stack_page *pages, size_t count, uint64_t low, bool needs_gap);

// Pure: the lowest address that [stack] may grow to, under its limit (bytes) and above the mapping below; its start
// when it may not grow.
uint64_t frame_room_lowest(const struct proc_maps *maps, const struct proc_map *stack, uint64_t stack_limit);

// A search for one of at least `size` bytes, while every thread of the process is stopped. What is the same for all
// threads is asked once.
struct frame_search {
	const struct frozen_process *frozen;
	const struct proc_maps *maps;
	const struct target_memory *memory;
	uint64_t size;
	// Nothing to be set by the caller.
	bool knows_main_stack, knows_who_returns;
	bool any_returns; // some thread is on its way home through the frame of a killed tool
	struct frame_room main_stack;
	struct hs_error *no_main_stack;
};

// On the stack that the libc has given the thread, for the main thread on [stack]. HS_ERROR_REFUSED says what was
// looked at; HS_ERROR_REFUSED_FOR_GOOD: the stack was used so far that there is no room wherever its owner stands.
struct hs_error *frame_room_on_own_stack(struct frame_search *search, const struct frozen_thread *thread,
					 struct frame_room *ret) HS_MUST_CHECK;
// On [stack], for any thread: also when the main thread has ended, or stands elsewhere.
struct hs_error *frame_room_on_main_stack(struct frame_search *search, struct frame_room *ret) HS_MUST_CHECK;
// Whether frame_room_on_main_stack was asked, and found none.
bool frame_room_lacks_main_stack(const struct frame_search *search);
void frame_search_deinit(struct frame_search *search);

// Writes into a room. Below the start of [stack] it grows by that, as it does by a signal; the kernel then asks for the
// tool's limits, and so these are lifted meanwhile: the target's own were respected when the room was chosen.
struct hs_error *frame_room_write(const struct target_memory *memory, uint64_t address, const void *data, size_t size,
				  pid_t stopped_tid) HS_MUST_CHECK;

#endif
