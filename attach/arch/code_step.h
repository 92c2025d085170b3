// SPDX-License-Identifier: Apache-2.0
// What an instruction does: where the program goes from it, and to the stack pointer.
#ifndef HEAPSNAP_ATTACH_ARCH_CODE_STEP_H
#define HEAPSNAP_ATTACH_ARCH_CODE_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What one instruction does to the flow of control and to the stack pointer.
enum code_flow {
	FLOW_NEXT, // the next instruction follows
	FLOW_CALL, // so too, after a call
	FLOW_JUMP,
	FLOW_CONDITION, // a jump or the next instruction
	FLOW_RETURN,    // a plain one
	FLOW_TRAP,      // a breakpoint: the next instruction follows, if a signal handler of the program comes back
	FLOW_END,       // nothing follows: a trap at which the instruction pointer stays
	FLOW_UNKNOWN,   // an interrupt, a far branch, a return that takes arguments off the stack
};

enum code_stack {
	STACK_MOVES,     // by `stack_change` bytes
	STACK_FROM_BASE, // it becomes the frame pointer + stack_change
	STACK_ALIGNS,    // by up to `stack_change` bytes
	STACK_UNKNOWN,
};

// Where in the stack the bytes are that an instruction reads, writes or takes the address of, other than by a push,
// pop, call or return.
enum code_place {
	PLACE_ELSEWHERE, // nowhere, or through another register
	PLACE_BY_STACK,  // stack pointer + place, as it is before the instruction
	PLACE_BY_BASE,   // frame pointer + place
};

struct code_step {
	size_t size; // bytes; 0 = no instruction
	enum code_flow flow;
	uint64_t target, slot; // of a call, jump or condition, as in struct code_branch
	enum code_stack stack; // of all but calls and returns
	int64_t stack_change;
	bool sets_base;    // the frame pointer becomes what the stack pointer is
	bool changes_base; // it becomes something else
	bool movable;      // may run at another address
	enum code_place place_from;
	int64_t place, place_size; // bytes; size 1 where only the address is taken
	bool place_is_indexed;     // by another register: they begin there or elsewhere
	bool place_is_written;
	bool calls_kernel; // a system call: what follows may be something else (rt_sigreturn)
};

// Pure.
void arch_decode_step(const uint8_t *code, size_t size, uint64_t address, struct code_step *ret);

// Pure. Whether compilers begin so where they align the stack for a function's frame: the caller's stack pointer is
// kept in another register, and the return address copied below, where it is expected.
bool arch_realigns_stack(const uint8_t *code, size_t size);

// A call or jump.
struct code_branch {
	uint64_t target; // 0 = not said by the instruction
	uint64_t slot;   // address of the word that holds the target; 0 = none
};

// Pure. Visits the calls and jumps among the instructions, or only an unconditional jump that is the first of them,
// behind a landing pad. A visit that returns false ends it; so does what is no instruction.
void arch_scan_branches(const uint8_t *code, size_t size, uint64_t address, bool first_only,
			bool (*visit)(const struct code_branch *branch, void *context), void *context);

// Pure: bytes at the start of a function that must stay there (a mark for indirect branches); 0 = none.
size_t arch_landing_pad(const uint8_t *code, size_t size);

#endif
