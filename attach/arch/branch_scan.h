// SPDX-License-Identifier: Apache-2.0
// Branches that lead into bytes that are to be overwritten, from anywhere in a module: a compiler may have moved the
// rarely run part of a function far away from it (".cold"), and a stripped file does not say where.
#ifndef HEAPSNAP_ATTACH_ARCH_BRANCH_SCAN_H
#define HEAPSNAP_ATTACH_ARCH_BRANCH_SCAN_H

#include "attach/arch/jump.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct branch_range {
	uint64_t low, high; // [low, high) must not be the target of a jump
	uint64_t call_low;  // [call_low, high) must not be that of a call, nor have its address taken: a function's
			    // start may
	bool hit;           // out
};

// Pure. Looks at every place where an instruction may begin for calls, jumps and addresses made from the pc; bytes that
// only look like one that leads into a range count too.
void branch_scan(const uint8_t *code, size_t size, uint64_t address, struct branch_range *ranges, size_t count);

// Pure. Looks at every place where an instruction may begin for constants that have the width of an address, and are
// the low end of a range, or its distance from `table` (a global offset table; 0 = there is none).
void branch_scan_constants(const uint8_t *code, size_t size, uint64_t table, struct branch_range *ranges, size_t count);

// Pure. Looks at the instructions from `code` on, short branches too: bytes that only look like one would be many.
// Where no instruction is, the next byte may begin one.
void branch_scan_decoded(const uint8_t *code, size_t size, uint64_t address, struct branch_range *range);

#endif
