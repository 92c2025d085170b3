// SPDX-License-Identifier: Apache-2.0
// The kernel's signal frames on a stopped thread's stack: to which code its handlers will return, and on which stacks
// that stands.
#ifndef HEAPSNAP_ATTACH_PTRACE_SIGNAL_FRAMES_H
#define HEAPSNAP_ATTACH_PTRACE_SIGNAL_FRAMES_H

#include "attach/ptrace/stack_reader.h"

// A piece of a stack, as it was read.
struct stack_piece {
	uint64_t address;
	const uint64_t *words;
	size_t size; // bytes, whole words
};

// Whether a signal frame may lie on the stack in such a way that the word at `offset` of the piece is its pc; it may be
// in another piece in part. No frame begins below `low`, a stack pointer. `handler_sp`: and of one whose handler runs
// on an alternate stack with this stack pointer; 0 = of any. What nobody knows, because a page is not there, counts as
// a frame.
bool signal_frame_has_pc(const struct stack_reader *reader, const struct stack_piece *piece, size_t offset,
			 uint64_t low, uint64_t handler_sp);

// Whether the word at `offset` is the stack pointer of a frame above `low` whose handler runs on an alternate stack,
// with the stack pointer `low`. Cheap enough to be asked of every word: what stands in the piece is looked at first.
bool signal_frame_has_sp(const struct stack_reader *reader, const struct stack_piece *piece, size_t offset,
			 uint64_t low);

#endif
