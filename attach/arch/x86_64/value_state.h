// SPDX-License-Identifier: Apache-2.0
// Where the values in a function's registers and stack are from, at one of its instructions. Pure.
#ifndef HEAPSNAP_ATTACH_ARCH_VALUE_STATE_H
#define HEAPSNAP_ATTACH_ARCH_VALUE_STATE_H

#include "attach/arch/value_step.h"
#include "attach/arch/wrapper_code.h"

// Where a value may be from. Bits 0 to 5: made of that argument.
enum {
	FROM_ARGUMENTS = 0x3f,
	FROM_CONSTANT = 1 << 6,
	FROM_RESULT = 1 << 7, // the block: its address, and `number` bytes
	FROM_OTHER = 1 << 8,
	FROM_STACK = 1 << 9, // the stack pointer at entry, and `number` bytes
	FROM_ADDRESSES = FROM_RESULT | FROM_STACK,
};

enum {
	VALUE_ARGUMENTS = 6,
	SLOT_BYTES = 4,
	SLOTS = 64, // of the stack below the entry's stack pointer
};

struct value {
	uint16_t from;
	int32_t number; // of an address, or a constant alone
};

struct value_state {
	struct value registers[VALUE_REGISTERS];
	struct value slots[SLOTS]; // slots[i]: at the entry's stack pointer - SLOT_BYTES * (i + 1)
	struct value tested;       // what the flags say to be 0 or not; from 0 = they say nothing of the kind
	bool is_reached, is_changed;
	bool has_failed; // the allocation has, on each way to here
	bool has_block;  // there may be one
};

// rdi, rsi, rdx, rcx, r8, r9
extern const uint8_t value_argument_registers[VALUE_ARGUMENTS];

static const struct value VALUE_OTHER = { FROM_OTHER, 0 };

// At a function's first instruction.
void value_state_enter(struct value_state *ret);
// What an instruction makes of the state, but for calls and jumps.
void value_state_apply(struct value_state *state, const struct value_step *step);
void value_state_apply_call(struct value_state *state, const struct callee *callee);
// The allocation has failed: what was its block is 0.
void value_state_fail(struct value_state *state);
// Whichever of the two ways has led here. True: something is new in `into`.
bool value_state_join(struct value_state *into, const struct value_state *state);

// The address of the block that was allocated, or 0.
bool value_is_block(struct value value);
// The slot of the stack where an operand in memory is; -1 = it is elsewhere.
int value_slot_of(const struct value_state *state, const struct value_step *step);
// What an instruction writes to memory.
struct value value_stored(const struct value_state *state, const struct value_step *step);

#endif
