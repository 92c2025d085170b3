// SPDX-License-Identifier: Apache-2.0
// Calls: System V ABI for x86-64, "Parameter Passing".
#include "attach/arch/value_state.h"

enum {
	NUMBER_MAX = 1 << 20,            // bytes; addresses further away are not followed
	NUMBER_UNKNOWN = NUMBER_MAX + 1, // of a constant
};

const uint8_t value_argument_registers[VALUE_ARGUMENTS] = { 7, 6, 2, 1, 8, 9 };

void value_state_enter(struct value_state *ret)
{
	*ret = (struct value_state){ .has_failed = false };
	for (unsigned i = 0; i < VALUE_REGISTERS; i++)
		ret->registers[i] = VALUE_OTHER;
	for (unsigned i = 0; i < VALUE_ARGUMENTS; i++)
		ret->registers[value_argument_registers[i]] = (struct value){ (uint16_t)(1u << i), NUMBER_UNKNOWN };
	ret->registers[REGISTER_STACK] = (struct value){ FROM_STACK, 0 };
	for (unsigned i = 0; i < SLOTS; i++)
		ret->slots[i] = VALUE_OTHER;
}

static struct value constant(int64_t number)
{
	return (struct value){ FROM_CONSTANT,
			       number > -NUMBER_MAX && number < NUMBER_MAX ? (int32_t)number : NUMBER_UNKNOWN };
}

static struct value join(struct value a, struct value b)
{
	const uint16_t from = a.from | b.from;
	const bool has_a = a.from & FROM_ADDRESSES, has_b = b.from & FROM_ADDRESSES;

	if (has_a && has_b && a.number != b.number)
		return (struct value){ from | FROM_OTHER, 0 };
	return (struct value){ from, has_a                  ? a.number
				     : has_b                ? b.number
				     : a.number == b.number ? a.number
							    : NUMBER_UNKNOWN };
}

// Made of both by a calculation.
static struct value mix(struct value a, struct value b)
{
	uint16_t from = a.from | b.from;

	if (from & FROM_ADDRESSES)
		from |= FROM_OTHER;
	if (from & ~FROM_CONSTANT)
		from &= (uint16_t)~FROM_CONSTANT;
	return (struct value){ from, NUMBER_UNKNOWN };
}

static struct value moved(struct value value, int64_t distance)
{
	const int64_t number = value.number + distance;

	if (value.from & FROM_ADDRESSES) {
		if (distance <= -NUMBER_MAX || distance >= NUMBER_MAX || number <= -NUMBER_MAX || number >= NUMBER_MAX)
			return (struct value){ value.from | FROM_OTHER, 0 };
		value.number = (int32_t)number;
	} else if (distance) {
		value.number = NUMBER_UNKNOWN;
	}
	return value;
}

bool value_is_block(struct value value)
{
	return value.from & FROM_RESULT && !(value.from & ~(FROM_RESULT | FROM_CONSTANT));
}

int value_slot_of(const struct value_state *state, const struct value_step *step)
{
	const struct value base = step->base == REGISTER_NONE ? VALUE_OTHER : state->registers[step->base];
	const int64_t at = base.number + step->displacement;

	if (base.from != FROM_STACK || step->is_indexed || at >= 0 || at % SLOT_BYTES != 0 || at < -SLOTS * SLOT_BYTES)
		return -1;
	return (int)(-at / SLOT_BYTES) - 1;
}

static struct value loaded(const struct value_state *state, const struct value_step *step)
{
	const int slot = value_slot_of(state, step);

	return slot < 0 ? VALUE_OTHER : state->slots[slot];
}

static void store(struct value_state *state, int slot, struct value value, unsigned size)
{
	if (slot < 0)
		return;
	state->slots[slot] = size == SLOT_BYTES || size == 2 * SLOT_BYTES ? value : VALUE_OTHER;
	for (unsigned more = SLOT_BYTES; more < size && slot > 0; more += SLOT_BYTES)
		state->slots[--slot] = VALUE_OTHER;
}

static void push(struct value_state *state, struct value value)
{
	const struct value_step place = { .base = REGISTER_STACK };

	state->registers[REGISTER_STACK] = moved(state->registers[REGISTER_STACK], -8);
	store(state, value_slot_of(state, &place), value, 8);
}

static struct value pop(struct value_state *state)
{
	const struct value_step place = { .base = REGISTER_STACK };
	const struct value value = loaded(state, &place);

	state->registers[REGISTER_STACK] = moved(state->registers[REGISTER_STACK], 8);
	return value;
}

static struct value mixed(const struct value_state *state, const struct value_step *step)
{
	struct value value = { 0, NUMBER_UNKNOWN };

	for (unsigned i = 0; i < VALUE_REGISTERS; i++)
		if (step->reads & 1u << i)
			value = value.from ? mix(value, state->registers[i]) : state->registers[i];
	if (step->has_memory)
		value = value.from ? mix(value, loaded(state, step)) : loaded(state, step);
	if (!value.from)
		value = VALUE_OTHER;
	if (step->is_scaled)
		value.from |= FROM_OTHER;
	return mix(value, value);
}

struct value value_stored(const struct value_state *state, const struct value_step *step)
{
	return step->effect == EFFECT_MIX    ? mixed(state, step)
	       : step->from == REGISTER_NONE ? constant(step->constant)
					     : state->registers[step->from];
}

void value_state_apply(struct value_state *state, const struct value_step *step)
{
	struct value *registers = state->registers;
	const struct value value = step->effect == EFFECT_MIX ? mixed(state, step) : VALUE_OTHER;

	switch (step->effect) {
	case EFFECT_NONE:
		break;
	case EFFECT_COPY:
		registers[step->to] = moved(registers[step->from], step->constant);
		break;
	case EFFECT_CONSTANT:
		registers[step->to] = constant(step->constant);
		break;
	case EFFECT_LOAD:
		registers[step->to] = loaded(state, step);
		break;
	case EFFECT_STORE:
		store(state, value_slot_of(state, step), value_stored(state, step), step->memory_size);
		break;
	case EFFECT_JOIN:
		registers[step->to] = join(registers[step->to], registers[step->from]);
		break;
	case EFFECT_PUSH:
		push(state, step->from == REGISTER_NONE ? VALUE_OTHER : registers[step->from]);
		break;
	case EFFECT_POP: {
		const struct value popped = pop(state);

		if (step->to != REGISTER_NONE)
			registers[step->to] = popped;
		break;
	}
	case EFFECT_LEAVE:
		registers[REGISTER_STACK] = registers[REGISTER_BASE];
		registers[REGISTER_BASE] = pop(state);
		break;
	case EFFECT_MIX:
		for (unsigned i = 0; i < VALUE_REGISTERS; i++)
			if (step->writes & 1u << i)
				registers[i] = value;
		if (step->has_memory && step->memory_is_written)
			store(state, value_slot_of(state, step), value, step->memory_size);
		break;
	}
	if (step->is_test)
		state->tested = step->has_memory              ? loaded(state, step)
				: step->from == REGISTER_NONE ? (struct value){ 0, 0 }
							      : registers[step->from];
	else if (!step->keeps_flags)
		state->tested = (struct value){ 0, 0 };
}

void value_state_apply_call(struct value_state *state, const struct callee *callee)
{
	for (unsigned i = 0; i < VALUE_REGISTERS; i++)
		if (HS_SCRATCH_REGISTERS & 1u << i)
			state->registers[i] = VALUE_OTHER;
	if (callee->kind == CALLEE_ALLOCATES) {
		state->registers[REGISTER_RESULT] = (struct value){ FROM_RESULT, 0 };
		state->has_block = true;
		state->has_failed = false;
	}
	state->tested = (struct value){ 0, 0 };
}

static void forget_block(struct value *value)
{
	if (value->from & FROM_RESULT)
		*value = (struct value){ (uint16_t)((value->from & ~FROM_RESULT) | FROM_CONSTANT), 0 };
}

void value_state_fail(struct value_state *state)
{
	for (unsigned i = 0; i < VALUE_REGISTERS; i++)
		forget_block(&state->registers[i]);
	for (unsigned i = 0; i < SLOTS; i++)
		forget_block(&state->slots[i]);
	state->tested = (struct value){ 0, 0 };
	state->has_failed = true;
	state->has_block = false;
}

static bool join_value(struct value *into, struct value value)
{
	const struct value joined = join(*into, value);
	const bool is_new = joined.from != into->from || joined.number != into->number;

	*into = joined;
	return is_new;
}

bool value_state_join(struct value_state *into, const struct value_state *state)
{
	bool is_new = false;

	for (unsigned i = 0; i < VALUE_REGISTERS; i++)
		is_new |= join_value(&into->registers[i], state->registers[i]);
	for (unsigned i = 0; i < SLOTS; i++)
		is_new |= join_value(&into->slots[i], state->slots[i]);
	// The flags say something only where they say the same on each way.
	if (into->tested.from &&
	    (into->tested.from != state->tested.from || into->tested.number != state->tested.number)) {
		into->tested = (struct value){ 0, 0 };
		is_new = true;
	}
	is_new |= (into->has_failed && !state->has_failed) || (!into->has_block && state->has_block);
	into->has_failed &= state->has_failed;
	into->has_block |= state->has_block;
	return is_new;
}
