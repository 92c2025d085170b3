// SPDX-License-Identifier: Apache-2.0
// Branches that lead into bytes that are to be overwritten, from anywhere in a module: a compiler may have moved the
// rarely run part of a function far away from it (".cold"), and a stripped file does not say where.
#ifndef HEAPSNAP_ATTACH_BRANCH_SCAN_H
#define HEAPSNAP_ATTACH_BRANCH_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct branch_range {
	uint64_t low, high; // [low, high) must not be the target of a branch
	bool hit;           // out
};

// Pure. Looks at every byte position for jmp rel32 and jcc rel32, so that it needs not know where instructions begin;
// bytes that only look like a branch into a range count too. Calls are not looked at: compilers call functions at their
// start.
void branch_scan(const uint8_t *code, size_t size, uint64_t address, struct branch_range *ranges, size_t count);

#endif
