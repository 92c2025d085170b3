// SPDX-License-Identifier: Apache-2.0
// The first instructions of a function, decoded and made movable, so that a jump can take their place.
#ifndef HEAPSNAP_ATTACH_ARCH_RELOCATE_H
#define HEAPSNAP_ATTACH_ARCH_RELOCATE_H

#include "attach/arch/jump.h"
#include "inject/abi/payload_header.h"
#include "inject/abi/records.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Instructions at one address.
struct relocation_request {
	const uint8_t *code;     // bytes from `address` on
	size_t code_size;        // bytes known; they may go on behind the function, so that padding can be seen
	uint64_t address;        // where they run now; behind the landing pad (see arch_landing_pad)
	uint64_t trampoline;     // where the copy will run
	uint64_t function_start; // for the check of branches: the whole function
	const uint8_t *function_code;
	size_t function_size; // bytes; 0 = unknown, then the check covers code_size
	size_t jump_size;     // bytes that will be overwritten (HS_JUMP_SIZE)
	bool is_exit_point;   // `code` ends a function: the copy ends with a jump to the island's stub in place of the
			      // return. `address` may be the target of branches
};

struct relocation_result {
	enum hook_verdict verdict;
	// The copy, then a jump to address + covered, unless the copy ends with a return or a jump of its own.
	uint8_t bytes[HS_ISLAND_TRAMPOLINE_SIZE];
	size_t size;    // bytes used
	size_t covered; // bytes of whole instructions taken from the original, >= jump_size
	// For a thread stopped inside the covered bytes: instruction i begins at original offset `from[i]` and, in the
	// trampoline, at offset `to[i]`. Padding behind a return is covered but never executed, and not listed.
	size_t instruction_count;
	uint8_t from[16], to[16];
	// [low, high]: span of the original bytes and of everything that the copy refers to. The copy must run within 2
	// GiB of all of it.
	uint64_t reach_low, reach_high;
};

// Pure. VERDICT_out_of_reach: `trampoline` is too far from something that the copy refers to.
void arch_relocate(const struct relocation_request *request, struct relocation_result *ret);

// Pure: whether the copy is a bare return.
bool arch_is_bare_return(const struct relocation_result *relocation);

#endif
