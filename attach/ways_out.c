// SPDX-License-Identifier: Apache-2.0
#include "attach/ways_out.h"

#include "inject/abi/limits.h"

#include <string.h>

#define DEPTH_UNKNOWN INT32_MIN
#define INSTRUCTION_MAX 15u // bytes

// What is known of an instruction, by its offset.
struct mark {
	uint8_t size;      // 0 = none begins here, as far as is known
	uint8_t flow;      // enum code_flow
	bool movable;
	bool is_target;    // of a branch
	int32_t depth;     // of the stack pointer before it, in bytes from where it was at the function's start
	int32_t base;      // of rbp; DEPTH_UNKNOWN = it is something else
};

struct walk {
	const struct whole_function *function;
	struct mark marks[HS_WHOLE_FUNCTION_MAX];
	uint32_t open[2 * HS_WHOLE_FUNCTION_MAX]; // offsets to be looked at: each once, and once more when less is known of rbp than it seemed
	size_t open_count;
	enum hook_verdict verdict;
	bool returns;      // somewhere
	bool (*is_end)(uint64_t target, uint64_t slot, void *context);
	way_judge *judge;  // NULL: what is called comes back, as far as this walk goes
	bool stays_below;  // nothing may depend on the return address, or on what is above it
	bool reaches_above; // something does
	bool goes_on;      // also after a failure
	void *context;
};

static void fail(struct walk *walk, enum hook_verdict verdict)
{
	if (walk->verdict == VERDICT_ok)
		walk->verdict = verdict;
}

// An instruction that can be reached with such a stack.
static void reach(struct walk *walk, uint64_t offset, int32_t depth, int32_t base)
{
	struct mark *mark = &walk->marks[offset];

	if (mark->depth != DEPTH_UNKNOWN) {
		if (mark->depth != depth)
			fail(walk, VERDICT_no_way_out);
		if (mark->base != base && mark->base != DEPTH_UNKNOWN) {
			mark->base = DEPTH_UNKNOWN; // looked at once more, with less known
			walk->open[walk->open_count++] = (uint32_t)offset;
		}
		return;
	}
	mark->depth = depth;
	mark->base = base;
	walk->open[walk->open_count++] = (uint32_t)offset;
}

static bool is_inside(const struct walk *walk, const struct code_step *step)
{
	return step->target && step->target - walk->function->address < walk->function->size;
}

// A jump to another function, which then returns in this one's place: only where the return address is what is on the stack.
static void leave(struct walk *walk, const struct code_step *step, int32_t depth)
{
	enum way_of_call way = walk->judge(step->target, step->slot, depth == 0, walk->context);

	if (way == WAY_unknown || (way == WAY_returns && depth != 0))
		fail(walk, VERDICT_no_way_out);
	walk->returns |= way == WAY_returns;
}

static void branch(struct walk *walk, const struct code_step *step, int32_t depth, int32_t base)
{
	uint64_t offset = step->target - walk->function->address;

	if (is_inside(walk, step)) {
		walk->marks[offset].is_target = true;
		reach(walk, offset, depth, base);
		return;
	}
	if (walk->judge) {
		leave(walk, step, depth);
		return;
	}
	// With a frame of its own, it is no jump in place of a call: there is no return address where the other function expects one.
	if (!step->target || depth >= 0)
		fail(walk, VERDICT_leaves_by_jump);
}

// The stack pointer behind an instruction. False = unknown.
static bool move_stack(const struct code_step *step, int32_t base, int32_t *depth)
{
	int64_t moved = *depth;

	if (step->flow == FLOW_CALL || step->flow == FLOW_RETURN)
		return true;
	if (step->stack == STACK_UNKNOWN || (step->stack == STACK_FROM_BASE && base == DEPTH_UNKNOWN))
		return false;
	moved = (step->stack == STACK_FROM_BASE ? base : moved) + step->stack_change;
	if (moved > 0 || moved < -(1 << 20))
		return false;
	*depth = (int32_t)moved;
	return true;
}

// Instructions do not overlap, whichever way they are reached.
static bool stands_alone(const struct walk *walk, uint32_t offset, size_t size)
{
	for (uint32_t back = 1; back < INSTRUCTION_MAX && back <= offset; back++)
		if (walk->marks[offset - back].size > back)
			return false;
	for (uint32_t next = 1; next < size; next++)
		if (walk->marks[offset + next].size)
			return false;
	return true;
}

// Where in the stack it begins, by the function's start, if that is known.
static bool find_place(const struct code_step *step, int32_t depth, int32_t base, int64_t *ret)
{
	if (step->place_from == PLACE_ELSEWHERE || (step->place_from == PLACE_BY_BASE && base == DEPTH_UNKNOWN))
		return false;
	*ret = step->place + (step->place_from == PLACE_BY_BASE ? base : depth);
	return true;
}

// As a thunk does that stands for a jump through a register: what it calls its return is none. What is written through other registers nobody sees.
static bool writes_return_address(const struct code_step *step, int32_t depth, int32_t base)
{
	int64_t place;

	return step->place_is_written && !step->place_is_indexed && find_place(step, depth, base, &place) && place + step->place_size > 0 &&
	       place < (int64_t)sizeof(uint64_t);
}

// The return address or what is above it, arguments and the caller's frame: read, written, or its address taken.
static bool reaches_above(const struct code_step *step, int32_t depth, int32_t base)
{
	int64_t place;

	return find_place(step, depth, base, &place) && place + step->place_size > 0;
}

static void look_at(struct walk *walk, uint32_t offset)
{
	const struct whole_function *function = walk->function;
	struct mark *mark = &walk->marks[offset];
	int32_t depth = mark->depth, base = mark->base;
	struct code_step step;

	hook_decode_step(function->code + offset, function->size - offset, function->address + offset, &step);
	if (!step.size || !stands_alone(walk, offset, step.size)) {
		fail(walk, VERDICT_not_decodable);
		return;
	}
	mark->size = (uint8_t)step.size;
	mark->flow = (uint8_t)step.flow;
	mark->movable = step.movable;
	if (walk->is_end && (step.flow == FLOW_CALL || step.flow == FLOW_JUMP) && walk->is_end(step.target, step.slot, walk->context))
		return;
	if ((walk->judge && step.calls_kernel) || writes_return_address(&step, depth, base))
		fail(walk, VERDICT_no_way_out);
	walk->reaches_above |= reaches_above(&step, depth, base);
	if (walk->stays_below && walk->reaches_above)
		fail(walk, VERDICT_no_way_out);
	if (walk->judge && step.flow == FLOW_CALL) {
		enum way_of_call way = walk->judge(step.target, step.slot, false, walk->context);

		if (way == WAY_unknown)
			fail(walk, VERDICT_no_way_out);
		if (way != WAY_returns)
			return;
	}
	if (!move_stack(&step, base, &depth)) {
		fail(walk, VERDICT_no_way_out);
		return;
	}
	if (step.sets_base)
		base = depth;
	else if (step.changes_base)
		base = DEPTH_UNKNOWN;
	switch (step.flow) {
	case FLOW_RETURN:
		walk->returns = true;
		if (depth != 0)
			fail(walk, VERDICT_no_way_out);
		return;
	case FLOW_JUMP:
		branch(walk, &step, depth, base);
		return;
	case FLOW_CONDITION:
		branch(walk, &step, depth, base);
		break;
	case FLOW_END:
		return;
	case FLOW_UNKNOWN:
		walk->returns = true;
		fail(walk, VERDICT_no_way_out);
		return;
	default:
		break;
	}
	if (offset + step.size < function->size) // else a call that does not return, or a trap behind one
		reach(walk, offset + step.size, depth, base);
	else if ((step.flow != FLOW_CALL && step.flow != FLOW_TRAP) || walk->judge)
		fail(walk, VERDICT_no_way_out);
}

static bool follow(struct walk *walk)
{
	if (!walk->function->size || walk->function->size > HS_WHOLE_FUNCTION_MAX)
		return false;
	for (size_t i = 0; i < walk->function->size; i++)
		walk->marks[i].depth = walk->marks[i].base = DEPTH_UNKNOWN;
	reach(walk, 0, 0, DEPTH_UNKNOWN);
	while (walk->open_count > 0 && (walk->verdict == VERDICT_ok || walk->goes_on))
		look_at(walk, walk->open[--walk->open_count]);
	return true;
}

// The start of the bytes that end with the return at `offset`. False = there is no room.
static bool find_start(const struct walk *walk, uint32_t offset, uint32_t *start_ret)
{
	const struct whole_function *function = walk->function;
	uint32_t end = offset + walk->marks[offset].size, start = offset;

	for (;;) {
		uint64_t first = function->address + start, last = first + HS_JUMP_SIZE - 1;
		uint32_t before;

		*start_ret = start;
		if (end - start >= HS_JUMP_SIZE && first / HS_PAGE_SIZE == last / HS_PAGE_SIZE)
			return true;
		for (before = 1; before <= INSTRUCTION_MAX && before <= start && walk->marks[start - before].size != before; before++)
			;
		if (walk->marks[start].is_target || before > INSTRUCTION_MAX || before > start || start - before < function->taken)
			break;
		start -= before;
		if (walk->marks[start].flow != FLOW_NEXT || !walk->marks[start].movable)
			break;
	}
	// What is behind the function may be padding: who writes the jump looks.
	start = *start_ret;
	return end - start < HS_JUMP_SIZE && end == function->size && function->seen >= start + HS_JUMP_SIZE && start >= function->taken &&
	       (function->address + start) / HS_PAGE_SIZE == (function->address + start + HS_JUMP_SIZE - 1) / HS_PAGE_SIZE;
}

void ways_out_find(const struct whole_function *function, struct ways_out *ret)
{
	struct walk walk = { .function = function, .verdict = VERDICT_ok };

	*ret = (struct ways_out){ .verdict = VERDICT_no_way_out };
	if (!follow(&walk))
		return;
	for (uint32_t i = 0; i < function->size && walk.verdict == VERDICT_ok; i++) {
		if (!walk.marks[i].size || walk.marks[i].flow != FLOW_RETURN)
			continue;
		if (ret->count == HS_WAYS_OUT_MAX || !find_start(&walk, i, &ret->offsets[ret->count]))
			fail(&walk, VERDICT_no_way_out);
		else
			ret->count++;
	}
	if (walk.verdict == VERDICT_ok && ret->count > 0)
		ret->verdict = VERDICT_ok;
	else if (walk.verdict != VERDICT_ok)
		ret->verdict = walk.verdict;
}

bool ways_out_all_pass(const struct whole_function *function, bool (*is_end)(uint64_t target, uint64_t slot, void *context), void *context)
{
	struct walk walk = { .function = function, .verdict = VERDICT_ok, .is_end = is_end, .context = context };

	return follow(&walk) && walk.verdict == VERDICT_ok && !walk.returns;
}

enum way_of_call ways_out_judge(const struct whole_function *function, bool stays_below, way_judge *judge, void *context)
{
	struct walk walk = { .function = function, .verdict = VERDICT_ok, .judge = judge, .stays_below = stays_below, .context = context };

	if (!follow(&walk) || walk.verdict != VERDICT_ok)
		return WAY_unknown;
	return walk.returns ? WAY_returns : WAY_ends;
}

struct way_survey ways_out_survey(const struct whole_function *function, way_judge *judge, void *context)
{
	struct walk walk = { .function = function, .verdict = VERDICT_ok, .judge = judge, .goes_on = true, .context = context };
	bool followed = follow(&walk) && walk.verdict == VERDICT_ok;

	return (struct way_survey){ .returns = walk.returns || !followed, .reaches_above = walk.reaches_above };
}
