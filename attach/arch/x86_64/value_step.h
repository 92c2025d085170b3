// SPDX-License-Identifier: Apache-2.0
// What an instruction does to values in registers and in memory, for who follows them through a function.
#ifndef HEAPSNAP_ATTACH_ARCH_VALUE_STEP_H
#define HEAPSNAP_ATTACH_ARCH_VALUE_STEP_H

#include "attach/arch/register_bits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Numbers of registers as in register_bits.
enum { VALUE_REGISTERS = 16, REGISTER_RESULT = 0, REGISTER_STACK = 4, REGISTER_BASE = 5, REGISTER_NONE = 255 };

enum value_effect {
	EFFECT_NONE,     // changes no value
	EFFECT_COPY,     // `to` becomes `from` + constant
	EFFECT_CONSTANT, // `to` becomes a constant
	EFFECT_LOAD,     // `to` becomes what is in memory
	EFFECT_STORE,    // what is in memory becomes `from`, or the constant
	EFFECT_JOIN,     // `to` becomes `from`, or stays
	EFFECT_PUSH,     // `from`, or a constant
	EFFECT_POP,
	EFFECT_LEAVE,
	EFFECT_MIX, // what is written becomes something made of all that is read
};

struct value_step {
	enum value_effect effect;
	uint8_t to, from; // REGISTER_NONE = none
	int64_t constant;
	register_bits reads, writes; // of all effects
	bool is_scaled;              // what is made is the multiple of a value by a constant
	bool keeps_flags;
	// The operand in memory. Its base REGISTER_NONE: at a fixed address.
	bool has_memory, memory_is_written;
	uint8_t base;
	bool is_indexed;
	int64_t displacement;
	uint8_t memory_size;
	// Sets the flags by whether a value is 0: that of `from`, or of what is in memory.
	bool is_test;
	bool jumps_if_zero, jumps_unless_zero; // as such flags say
};

// Pure. False: these bytes are no instruction.
bool value_step_decode(const uint8_t *code, size_t size, struct value_step *ret);

#endif
