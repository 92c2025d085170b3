// SPDX-License-Identifier: Apache-2.0
// On which side of a moment blocks were born. Pure.
//
// A thread reads the time for some of its recordings only (inject/hook/block_events.c); a block's `birth` is the last
// such reading, so the block is born between that and the thread's next reading. A later reading that is known from
// another block bounds it from above:
//
//   readings of a thread     r1            r2        |line      r3
//   born in                  [r1, r2)      [r2, r3)             [r3, ...)
//   side                     before        unsure               after
//
// What is said to be before or after is proven so. Of each thread no more than what one reading was for is unsure.
#ifndef HEAPSNAP_SNAPSHOT_PROFILE_BIRTH_LINE_H
#define HEAPSNAP_SNAPSHOT_PROFILE_BIRTH_LINE_H

#include "base/error.h"
#include "inject/abi/records.h"

#include <stdbool.h>
#include <stdint.h>

enum birth_side { BORN_BEFORE, BORN_AFTER, BORN_UNSURE };

struct birth_line {
	uint64_t ticks; // of the time-stamp counter
	uint64_t *last; // owned; by thread: the last known reading up to the line; 0 = none
};

// HS_ERROR_NO_MEMORY.
struct hs_error *birth_line_init(struct birth_line *line, uint64_t ticks) HS_MUST_CHECK;
void birth_line_deinit(struct birth_line *line); // zeroed ones are allowed

// To be called for all blocks first.
void birth_line_note(struct birth_line *line, const struct block_record *record);
// Born at the line is born before.
enum birth_side birth_line_side(const struct birth_line *line, const struct block_record *record);

// The tick so many nanoseconds before another one; 0 where that is before the first. pre: ticks_per_us is not 0
uint64_t ticks_before(uint64_t ticks, uint64_t nanoseconds, uint32_t ticks_per_us);

#endif
