// SPDX-License-Identifier: Apache-2.0
#include "attach/ptrace/signal_frames.h"

#include "attach/arch/sigframe.h"

#include <string.h>

// Whether [from, from + HS_SIGFRAME_HEAD_SIZE) of the piece, where `at` lies `behind` bytes behind its beginning, is
// all there.
static bool holds_head(const struct stack_piece *piece, size_t at, size_t behind)
{
	return at >= behind && piece->size - at >= HS_SIGFRAME_HEAD_SIZE - behind;
}

bool signal_frame_has_pc(const struct stack_reader *reader, const struct stack_piece *piece, size_t offset,
			 uint64_t low, uint64_t handler_sp)
{
	uint64_t head[HS_SIGFRAME_HEAD_SIZE / sizeof(uint64_t)],
		frame = piece->address + offset - HS_SIGFRAME_PC_OFFSET, restorer;
	const struct proc_map *map;
	size_t size;
	bool is_known;

	_Static_assert(HS_SIGFRAME_HEAD_SIZE % sizeof(uint64_t) == 0 && HS_SIGFRAME_PC_OFFSET % sizeof(uint64_t) == 0,
		       "whole words");
	if (frame + HS_SIGFRAME_TAKEN < low)
		return false;
	if (holds_head(piece, offset, HS_SIGFRAME_PC_OFFSET)) {
		memcpy(head, (const uint8_t *)piece->words + offset - HS_SIGFRAME_PC_OFFSET, sizeof(head));
	} else {
		hs_error_destroy(stack_reader_copy(reader, frame, head, sizeof(head), &size, &is_known));
		if (size < sizeof(head))
			return !is_known;
	}
	if (!sigframe_may_be((const uint8_t *)head, &restorer) ||
	    (handler_sp && !sigframe_runs_on_alternate((const uint8_t *)head, frame, handler_sp)))
		return false;
	map = proc_maps_find(reader->maps, restorer);
	return map && map->executable;
}

bool signal_frame_has_sp(const struct stack_reader *reader, const struct stack_piece *piece, size_t offset,
			 uint64_t low)
{
	const size_t pc_offset = offset + HS_SIGFRAME_PC_OFFSET - HS_SIGFRAME_SP_OFFSET;
	uint64_t restorer;

	if (holds_head(piece, offset, HS_SIGFRAME_SP_OFFSET)) {
		if (!sigframe_may_be((const uint8_t *)piece->words + offset - HS_SIGFRAME_SP_OFFSET, &restorer))
			return false;
	} else if (pc_offset < piece->size &&
		   !proc_maps_find(reader->maps, piece->words[pc_offset / sizeof(uint64_t)])) {
		return false; // no pc stands behind it
	}
	return signal_frame_has_pc(reader, piece, pc_offset, low, low);
}
