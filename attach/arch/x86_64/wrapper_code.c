// SPDX-License-Identifier: Apache-2.0
// Follows the values of a function from its arguments on, over all ways through it, until nothing new is learned, and
// judges then. Calls: System V ABI for x86-64, "Parameter Passing".
#include "attach/arch/wrapper_code.h"

#include "attach/arch/value_state.h"

#include <stdlib.h>
#include <string.h>

enum { VISITS_MAX = 64 * WRAPPER_STEPS_MAX };

struct step {
	struct code_step flow;
	struct value_step value;
	struct callee callee;    // of a call, or a jump out of the function
	bool is_outside;         // a jump that is one
	bool reaches_allocation; // by it, or on a way from it on
};

struct walk {
	const uint8_t *code;
	size_t size;
	uint64_t address;
	size_t count;
	uint8_t at[WRAPPER_BYTES_MAX]; // of the byte where an instruction begins, its number + 1; 0 = not looked at
	uint16_t offsets[WRAPPER_STEPS_MAX];
	struct step steps[WRAPPER_STEPS_MAX];
	struct value_state states[WRAPPER_STEPS_MAX]; // before each
	find_callee *find;
	void *context;
	bool has_end; // `size` is all of it
	bool is_lost; // what the function does cannot be followed
	bool returns;

	// What the judgement is made of.
	bool is_refused, returns_block, allocates;
	uint16_t sizes; // of arguments
	int64_t written_end, returned_least;
};

// The number of the instruction at an offset, decoded when it is first met; -1 = there is none, or too many.
static int step_at(struct walk *walk, size_t offset)
{
	struct step *step = &walk->steps[walk->count];
	struct code_branch branch;

	if (offset >= walk->size)
		return -1;
	if (walk->at[offset])
		return walk->at[offset] - 1;
	if (walk->count == WRAPPER_STEPS_MAX)
		return -1;
	arch_decode_step(walk->code + offset, walk->size - offset, walk->address + offset, &step->flow);
	if (!step->flow.size || !value_step_decode(walk->code + offset, walk->size - offset, &step->value))
		return -1;
	branch = (struct code_branch){ step->flow.target, step->flow.slot };
	step->is_outside = (step->flow.flow == FLOW_JUMP || step->flow.flow == FLOW_CONDITION) &&
			   step->flow.target - walk->address >= walk->size;
	if (step->is_outside || step->flow.flow == FLOW_CALL)
		step->callee = branch.target || branch.slot ? walk->find(&branch, walk->context)
							    : (struct callee){ .kind = CALLEE_OTHER };
	// What a call that is the last instruction calls does not return: the compiler knew.
	if (walk->has_end && step->flow.flow == FLOW_CALL && step->callee.kind == CALLEE_OTHER &&
	    offset + step->flow.size == walk->size)
		step->callee.kind = CALLEE_ENDS;
	walk->offsets[walk->count] = (uint16_t)offset;
	walk->at[offset] = (uint8_t)++walk->count;
	return (int)walk->count - 1;
}

// What is known on the way to an instruction, beside what was known on other ways to it.
static void enter(struct walk *walk, size_t offset, const struct value_state *state)
{
	const int index = step_at(walk, offset);
	struct value_state *known = index < 0 ? NULL : &walk->states[index];

	if (!known) {
		walk->is_lost = true;
		return;
	}
	if (!known->is_reached) {
		*known = *state;
		known->is_reached = known->is_changed = true;
		return;
	}
	known->is_changed |= value_state_join(known, state);
}

static void enter_after_condition(struct walk *walk, const struct step *step, size_t next,
				  const struct value_state *state)
{
	struct value_state taken = *state, other = *state;

	if (value_is_block(state->tested) && step->value.jumps_if_zero)
		value_state_fail(&taken);
	if (value_is_block(state->tested) && step->value.jumps_unless_zero)
		value_state_fail(&other);
	if (!step->is_outside)
		enter(walk, (size_t)(step->flow.target - walk->address), &taken);
	enter(walk, next, &other);
}

static void follow(struct walk *walk, size_t index)
{
	const struct step *step = &walk->steps[index];
	const size_t next = walk->offsets[index] + step->flow.size;
	struct value_state state = walk->states[index];

	switch (step->flow.flow) {
	case FLOW_NEXT:
		value_state_apply(&state, &step->value);
		enter(walk, next, &state);
		break;
	case FLOW_CALL:
		if (step->callee.kind == CALLEE_ENDS)
			break;
		walk->is_refused |= step->callee.kind == CALLEE_OTHER && state.has_block;
		value_state_apply_call(&state, &step->callee);
		enter(walk, next, &state);
		break;
	case FLOW_JUMP:
		if (!step->is_outside)
			enter(walk, (size_t)(step->flow.target - walk->address), &state);
		else
			walk->returns |= step->callee.kind != CALLEE_ENDS;
		break;
	case FLOW_CONDITION:
		walk->returns |= step->is_outside && step->callee.kind != CALLEE_ENDS;
		enter_after_condition(walk, step, next, &state);
		break;
	case FLOW_RETURN:
		walk->returns = true;
		break;
	case FLOW_END:
		break;
	case FLOW_TRAP:
	case FLOW_UNKNOWN:
		walk->is_lost = true;
		break;
	}
	if (step->flow.calls_kernel)
		walk->is_lost = true;
}

static void walk_all(struct walk *walk)
{
	struct value_state entry;
	unsigned visits = 0;
	bool is_changed = true;

	value_state_enter(&entry);
	enter(walk, 0, &entry);
	// What has been refused once stays so: that there may be a block is never taken back.
	while (is_changed && !walk->is_lost && !(walk->is_refused && walk->returns)) {
		is_changed = false;
		for (size_t i = 0; i < walk->count && !walk->is_lost; i++) {
			if (!walk->states[i].is_changed)
				continue;
			walk->states[i].is_changed = false;
			is_changed = true;
			walk->is_lost = ++visits > VISITS_MAX;
			follow(walk, i);
		}
	}
}

static bool reaches_from(const struct walk *walk, uint64_t offset)
{
	return offset < walk->size && walk->at[offset] && walk->steps[walk->at[offset] - 1].reaches_allocation;
}

// Whether an allocation may follow an instruction.
static bool reaches_behind(const struct walk *walk, size_t index)
{
	const struct step *step = &walk->steps[index];
	const enum code_flow flow = step->flow.flow;
	const bool goes_on =
		flow == FLOW_NEXT || flow == FLOW_CONDITION || (flow == FLOW_CALL && step->callee.kind != CALLEE_ENDS);
	const bool jumps = flow == FLOW_JUMP || flow == FLOW_CONDITION;

	return (goes_on && reaches_from(walk, walk->offsets[index] + step->flow.size)) ||
	       (jumps && !step->is_outside && reaches_from(walk, step->flow.target - walk->address));
}

static void find_what_reaches(struct walk *walk)
{
	bool is_changed = true;

	while (is_changed) {
		is_changed = false;
		for (size_t i = walk->count; i-- > 0;) {
			struct step *step = &walk->steps[i];
			const bool reaches = step->callee.kind == CALLEE_ALLOCATES || reaches_behind(walk, i);

			is_changed |= reaches != step->reaches_allocation;
			step->reaches_allocation = reaches;
		}
	}
}

static bool clears_block(const struct value_state *state)
{
	const struct value block = state->registers[value_argument_registers[0]],
			   byte = state->registers[value_argument_registers[1]];

	return block.from == FROM_RESULT && block.number == 0 && byte.from == FROM_CONSTANT && byte.number == 0;
}

static void judge_call(struct walk *walk, size_t index, const struct value_state *state)
{
	const struct step *step = &walk->steps[index];
	uint16_t sizes = 0;

	if (step->callee.kind == CALLEE_CLEARS && !state->has_failed)
		walk->is_refused |= !clears_block(state);
	if (step->callee.kind == CALLEE_OTHER)
		walk->is_refused |= !state->has_failed && (state->has_block || reaches_behind(walk, index));
	if (step->callee.kind != CALLEE_ALLOCATES)
		return;
	for (unsigned i = 0; i < VALUE_ARGUMENTS; i++) {
		const struct value value = state->registers[value_argument_registers[i]];

		if (!(step->callee.size_arguments & 1u << i))
			continue;
		// A factor that is a constant other than 1 is the size of something that the function knows.
		if (value.from & ~(FROM_ARGUMENTS | FROM_CONSTANT) ||
		    (value.from == FROM_CONSTANT && value.number != 1))
			walk->is_refused = true;
		sizes |= value.from & FROM_ARGUMENTS;
	}
	walk->is_refused |= !sizes;
	walk->sizes |= sizes;
	walk->allocates = true;
}

static void judge_return(struct walk *walk, struct value value, bool has_failed)
{
	if (has_failed)
		return;
	walk->is_refused |= (value.from & ~(FROM_RESULT | FROM_CONSTANT)) != 0;
	if (value.from & FROM_RESULT) {
		walk->returns_block = true;
		walk->returned_least = value.number < walk->returned_least ? value.number : walk->returned_least;
	}
}

// A write to memory that is not the function's own stack.
static void judge_write(struct walk *walk, const struct value_step *step, const struct value_state *state)
{
	const struct value base = step->base == REGISTER_NONE ? VALUE_OTHER : state->registers[step->base];
	const int64_t end = base.number + step->displacement + step->memory_size;

	if (!step->has_memory || !step->memory_is_written || state->has_failed || value_slot_of(state, step) >= 0)
		return;
	if (value_stored(state, step).from & FROM_ADDRESSES || base.from & FROM_ARGUMENTS) {
		walk->is_refused = true; // the block is kept, or an argument written to
	} else if (base.from & FROM_RESULT) {
		walk->is_refused |= step->is_indexed || base.from & FROM_OTHER;
		walk->written_end = end > walk->written_end ? end : walk->written_end;
	}
}

static void judge_step(struct walk *walk, size_t index)
{
	const struct step *step = &walk->steps[index];
	const struct value_state *state = &walk->states[index];
	const bool is_jump = step->flow.flow == FLOW_JUMP || step->flow.flow == FLOW_CONDITION;

	walk->is_refused |= state->registers[REGISTER_STACK].from != FROM_STACK;
	if (step->flow.flow == FLOW_CALL || step->is_outside)
		judge_call(walk, index, state);
	if (is_jump && step->is_outside && step->callee.kind == CALLEE_ALLOCATES)
		judge_return(walk, (struct value){ FROM_RESULT, 0 }, state->has_failed);
	else if (is_jump && step->is_outside &&
		 (step->callee.kind == CALLEE_HARMLESS || step->callee.kind == CALLEE_CLEARS))
		walk->is_refused |= !state->has_failed;
	else if (step->flow.flow == FLOW_RETURN)
		judge_return(walk, state->registers[REGISTER_RESULT], state->has_failed);
	else if (step->flow.flow == FLOW_NEXT && step->value.effect != EFFECT_PUSH)
		judge_write(walk, &step->value, state);
}

struct hs_error *wrapper_code_judge(const uint8_t *code, size_t size, uint64_t address, find_callee *find,
				    void *context, struct wrapper_verdict *ret)
{
	struct walk *walk;

	*ret = (struct wrapper_verdict){ .is_wrapper = false };
	if (size == 0)
		return NULL;
	walk = calloc(1, sizeof(*walk));
	if (!walk)
		return &hs_error_no_memory;
	walk->code = code;
	walk->has_end = size <= WRAPPER_BYTES_MAX;
	walk->size = walk->has_end ? size : WRAPPER_BYTES_MAX;
	walk->address = address;
	walk->find = find;
	walk->context = context;
	walk->returned_least = INT64_MAX;
	walk_all(walk);
	find_what_reaches(walk);
	for (size_t i = 0; i < walk->count && !walk->is_lost; i++)
		if (walk->states[i].is_reached)
			judge_step(walk, i);
	if (!walk->is_lost) {
		ret->never_returns = !walk->returns;
		ret->is_wrapper = walk->allocates && walk->returns_block && !walk->is_refused &&
				  walk->written_end <= walk->returned_least;
		ret->size_arguments = ret->is_wrapper ? (uint8_t)walk->sizes : 0;
	}
	free(walk);
	return NULL;
}

bool wrapper_code_call_before(const uint8_t *code, size_t size, uint64_t address, struct code_branch *ret)
{
	static const size_t sizes[] = { 5, 6 }; // E8 rel32; FF /2 with a displacement from the instruction pointer

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct code_step step;

		if (size < sizes[i])
			continue;
		arch_decode_step(code + size - sizes[i], sizes[i], address - sizes[i], &step);
		*ret = (struct code_branch){ step.target, step.slot };
		if (step.size == sizes[i] && step.flow == FLOW_CALL && (step.target || step.slot))
			return true;
	}
	return false;
}

uint64_t wrapper_code_stub_slot(const uint8_t *code, size_t size, uint64_t address)
{
	size_t offset = arch_landing_pad(code, size);
	struct code_step step;

	arch_decode_step(code + offset, size - offset, address + offset, &step);
	return step.size && step.flow == FLOW_JUMP ? step.slot : 0;
}
