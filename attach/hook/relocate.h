// SPDX-License-Identifier: Apache-2.0
// The first instructions of a function, decoded and made movable, so that a jump can take their place.
#ifndef HEAPSNAP_ATTACH_HOOK_RELOCATE_H
#define HEAPSNAP_ATTACH_HOOK_RELOCATE_H

#include "inject/abi/payload_header.h"
#include "inject/abi/records.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HS_JUMP_SIZE 5 // bytes of jmp rel32

// Instructions at one address.
struct relocation_request {
	const uint8_t *code;     // bytes from `address` on
	size_t code_size;        // bytes known; they may go on behind the function, so that padding can be seen
	uint64_t address;        // where they run now; behind the landing pad (see hook_landing_pad)
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
void hook_relocate(const struct relocation_request *request, struct relocation_result *ret);

// Pure: whether the copy is a bare return.
bool hook_is_bare_return(const struct relocation_result *relocation);

// What one instruction does to the flow of control and to the stack pointer.
enum code_flow {
	FLOW_NEXT, // the next instruction follows
	FLOW_CALL, // so too, after a call
	FLOW_JUMP,
	FLOW_CONDITION, // a jump or the next instruction
	FLOW_RETURN,    // a plain one
	FLOW_TRAP,      // int3: the next instruction follows, if a signal handler of the program comes back
	FLOW_END,       // nothing follows: a trap at which the instruction pointer stays
	FLOW_UNKNOWN,   // an interrupt, a far branch, a return that takes arguments off the stack
};

enum code_stack {
	STACK_MOVES,     // by `stack_change` bytes
	STACK_FROM_BASE, // it becomes rbp + stack_change
	STACK_ALIGNS,    // by up to `stack_change` bytes
	STACK_UNKNOWN,
};

// Where in the stack the bytes are that an instruction reads, writes or takes the address of, other than by a push,
// pop, call or return.
enum code_place {
	PLACE_ELSEWHERE, // nowhere, or through another register
	PLACE_BY_STACK,  // rsp + place, with the rsp before the instruction
	PLACE_BY_BASE,   // rbp + place
};

struct code_step {
	size_t size; // bytes; 0 = no instruction
	enum code_flow flow;
	uint64_t target, slot; // of a call, jump or condition, as in struct code_branch
	enum code_stack stack; // of all but calls and returns
	int64_t stack_change;
	bool sets_base;    // rbp becomes what rsp is
	bool changes_base; // rbp becomes something else
	bool movable;      // may run at another address
	enum code_place place_from;
	int64_t place, place_size; // bytes; size 1 where only the address is taken
	bool place_is_indexed;     // by another register: they begin there or elsewhere
	bool place_is_written;
	bool calls_kernel; // syscall: what follows may be something else (rt_sigreturn)
};

// Pure.
void hook_decode_step(const uint8_t *code, size_t size, uint64_t address, struct code_step *ret);

// A call or jump.
struct code_branch {
	uint64_t target; // 0 = not said by the instruction
	uint64_t slot;   // address of the word that holds the target; 0 = none
};

// Pure. Visits the calls and jumps among the instructions, or only an unconditional jump that is the first of them,
// behind a landing pad. A visit that returns false ends it; so does what is no instruction.
void hook_scan_branches(const uint8_t *code, size_t size, uint64_t address, bool first_only,
			bool (*visit)(const struct code_branch *branch, void *context), void *context);

// Pure: bytes at the start of a function that must stay there (endbr64), 0 or 4.
size_t hook_landing_pad(const uint8_t *code, size_t size);

// Pure: the code of one island, stub and trampoline, without an inline fast path. `entry` is the payload's entry.
void hook_fill_island(uint64_t entry, uint32_t hook_index, enum hook_kind kind,
		      const struct relocation_result *relocation, struct hook_island *ret);
// Pure: whether these bytes of the target are an island that such code was written to.
bool hook_island_has_stub(const struct hook_island *island);

#endif
