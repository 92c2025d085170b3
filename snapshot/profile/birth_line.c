// SPDX-License-Identifier: Apache-2.0
#include "snapshot/profile/birth_line.h"

#include <stdlib.h>

// Threads that come after the history is full share its last entry: what one of them reads says nothing of another.
enum { SHARED_THREAD = HS_THREAD_HISTORY_MAX - 1 };

struct hs_error *birth_line_init(struct birth_line *line, uint64_t ticks)
{
	// as many pages as there are threads are touched
	*line = (struct birth_line){ .ticks = ticks, .last = calloc(HS_THREAD_HISTORY_MAX, sizeof(*line->last)) };
	return line->last ? NULL : &hs_error_no_memory;
}

void birth_line_deinit(struct birth_line *line)
{
	free(line->last);
	*line = (struct birth_line){ 0 };
}

void birth_line_note(struct birth_line *line, const struct block_record *record)
{
	if (record->birth <= line->ticks && record->birth > line->last[record->thread])
		line->last[record->thread] = record->birth;
}

enum birth_side birth_line_side(const struct birth_line *line, const struct block_record *record)
{
	if (record->birth > line->ticks)
		return BORN_AFTER;
	return record->thread != SHARED_THREAD && record->birth < line->last[record->thread] ? BORN_BEFORE
											     : BORN_UNSURE;
}

uint64_t ticks_before(uint64_t ticks, uint64_t nanoseconds, uint32_t ticks_per_us)
{
	const unsigned __int128 back = (unsigned __int128)nanoseconds * ticks_per_us / 1000;

	return back < ticks ? ticks - (uint64_t)back : 0;
}
