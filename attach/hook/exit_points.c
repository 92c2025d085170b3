// SPDX-License-Identifier: Apache-2.0
#include "attach/hook/exit_points.h"

#include "attach/arch/relocate.h"
#include "base/array.h"
#include "inject/abi/limits.h"

#include <stdlib.h>

#define DEPTH_UNKNOWN   INT32_MIN
#define INSTRUCTION_MAX 15u // bytes

// What is known of an instruction, by its offset.
struct mark {
	uint8_t size; // 0 = none begins here, as far as is known
	uint8_t flow; // enum code_flow
	bool movable;
	bool is_target; // of a branch
	int32_t depth;  // of the stack pointer before it, in bytes from where it was at the function's start
	int32_t base;   // of the frame pointer; DEPTH_UNKNOWN = it is something else
};

// One run of code: the function, or a part of it that a compiler has moved away.
struct run {
	struct whole_function function;
	struct mark *marks; // of each byte; owned
};

// A place that is still to be looked at.
struct place {
	uint32_t run, offset;
};

#define RUNS_MAX 16u

struct walk {
	struct run runs[RUNS_MAX]; // the first is the function
	size_t run_count;
	struct place *open; // owned
	size_t open_count, open_room;
	enum hook_verdict verdict;
	bool returns; // somewhere
	bool (*is_end)(uint64_t target, uint64_t slot, void *context);
	outcome_judge *judge;   // NULL: what is called comes back, as far as this walk goes
	part_finder *find_part; // NULL: there are none
	bool stays_below;       // nothing may depend on the return address, or on what is above it
	bool reaches_above;     // something does
	bool goes_on;           // also after a failure
	void *context;
};

static void fail(struct walk *walk, enum hook_verdict verdict)
{
	if (walk->verdict == VERDICT_ok)
		walk->verdict = verdict;
}

static bool add_run(struct walk *walk, const struct whole_function *function)
{
	struct run *run = &walk->runs[walk->run_count];

	if (walk->run_count == RUNS_MAX || !function->size || function->size > HS_WHOLE_FUNCTION_MAX)
		return false;
	*run = (struct run){ *function, malloc(function->size * sizeof(*run->marks)) };
	if (!run->marks)
		return false;
	for (size_t i = 0; i < function->size; i++)
		run->marks[i] = (struct mark){ .depth = DEPTH_UNKNOWN, .base = DEPTH_UNKNOWN };
	walk->run_count++;
	return true;
}

static void look_later(struct walk *walk, struct place place)
{
	if (ARRAY_RESERVE(walk->open, walk->open_count + 1, &walk->open_room))
		fail(walk, VERDICT_not_decodable);
	else
		walk->open[walk->open_count++] = place;
}

// An instruction that can be reached with such a stack. It is looked at once, and once more when less is known of the
// frame pointer than it seemed.
static void reach(struct walk *walk, struct place place, int32_t depth, int32_t base)
{
	struct mark *mark = &walk->runs[place.run].marks[place.offset];

	if (mark->depth != DEPTH_UNKNOWN) {
		if (mark->depth != depth)
			fail(walk, VERDICT_no_exit_point);
		if (mark->base != base && mark->base != DEPTH_UNKNOWN) {
			mark->base = DEPTH_UNKNOWN;
			look_later(walk, place);
		}
		return;
	}
	mark->depth = depth;
	mark->base = base;
	look_later(walk, place);
}

// Where in the runs it leads. False = to none of them.
static bool find_inside(const struct walk *walk, uint64_t target, struct place *ret)
{
	for (uint32_t i = 0; i < walk->run_count && target; i++) {
		const struct whole_function *function = &walk->runs[i].function;

		if (target - function->address >= function->size)
			continue;
		*ret = (struct place){ i, (uint32_t)(target - function->address) };
		return true;
	}
	return false;
}

// With a frame, a jump leads to another part of the function, or to what ends the program.
static bool find_moved_part(struct walk *walk, uint64_t target, struct place *ret)
{
	struct whole_function part;

	return walk->find_part && target && walk->find_part(target, &part, walk->context) && add_run(walk, &part) &&
	       find_inside(walk, target, ret);
}

// A jump to another function, which then returns in this one's place: only where the return address is what is on the
// stack.
static void leave(struct walk *walk, const struct code_step *step, int32_t depth)
{
	enum call_outcome outcome = walk->judge(step->target, step->slot, depth == 0, walk->context);

	if (outcome == OUTCOME_unknown || (outcome == OUTCOME_returns && depth != 0))
		fail(walk, VERDICT_no_exit_point);
	walk->returns |= outcome == OUTCOME_returns;
}

static void branch(struct walk *walk, const struct code_step *step, int32_t depth, int32_t base)
{
	struct place place;

	if (find_inside(walk, step->target, &place) || (depth != 0 && find_moved_part(walk, step->target, &place))) {
		walk->runs[place.run].marks[place.offset].is_target = true;
		reach(walk, place, depth, base);
		return;
	}
	if (walk->judge) {
		leave(walk, step, depth);
		return;
	}
	// With a frame of its own, it is no jump in place of a call: there is no return address where the other
	// function expects one.
	if (!step->target || depth >= 0)
		fail(walk, VERDICT_leaves_by_jump);
}

// The stack pointer behind an instruction. False = unknown. A survey takes one that is aligned for the lowest that it
// may be: a function that has aligned its stack finds what is above by another register.
static bool move_stack(const struct walk *walk, const struct code_step *step, int32_t base, int32_t *depth)
{
	int64_t moved = *depth;

	if (step->flow == FLOW_CALL || step->flow == FLOW_RETURN)
		return true;
	if (step->stack == STACK_UNKNOWN || (step->stack == STACK_ALIGNS && !walk->goes_on) ||
	    (step->stack == STACK_FROM_BASE && base == DEPTH_UNKNOWN))
		return false;
	moved = (step->stack == STACK_FROM_BASE ? base : moved) + step->stack_change;
	if (moved > 0 || moved < -(1 << 20))
		return false;
	*depth = (int32_t)moved;
	return true;
}

// Instructions do not overlap, whichever way they are reached.
static bool stands_alone(const struct mark *marks, uint32_t offset, size_t size)
{
	for (uint32_t back = 1; back < INSTRUCTION_MAX && back <= offset; back++)
		if (marks[offset - back].size > back)
			return false;
	for (uint32_t next = 1; next < size; next++)
		if (marks[offset + next].size)
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

// As a thunk does that stands for a jump through a register: what it calls its return is none. What is written through
// other registers nobody sees.
static bool writes_return_address(const struct code_step *step, int32_t depth, int32_t base)
{
	int64_t place;

	return step->place_is_written && !step->place_is_indexed && find_place(step, depth, base, &place) &&
	       place + step->place_size > 0 && place < (int64_t)sizeof(uint64_t);
}

// The return address or what is above it, arguments and the caller's frame: read, written, or its address taken.
static bool reaches_above(const struct code_step *step, int32_t depth, int32_t base)
{
	int64_t place;

	return find_place(step, depth, base, &place) && place + step->place_size > 0;
}

// Longer than 60 lines: what one instruction means, asked in an order that matters.
static void look_at(struct walk *walk, struct place place)
{
	const struct whole_function *function = &walk->runs[place.run].function;
	const uint32_t offset = place.offset;
	struct mark *mark = &walk->runs[place.run].marks[offset];
	int32_t depth = mark->depth, base = mark->base;
	struct code_step step;

	arch_decode_step(function->code + offset, function->size - offset, function->address + offset, &step);
	if (!step.size || !stands_alone(walk->runs[place.run].marks, offset, step.size)) {
		fail(walk, VERDICT_not_decodable);
		return;
	}
	mark->size = (uint8_t)step.size;
	mark->flow = (uint8_t)step.flow;
	mark->movable = step.movable;
	if (walk->is_end && (step.flow == FLOW_CALL || step.flow == FLOW_JUMP) &&
	    walk->is_end(step.target, step.slot, walk->context))
		return;
	if ((walk->judge && step.calls_kernel) || writes_return_address(&step, depth, base))
		fail(walk, VERDICT_no_exit_point);
	walk->reaches_above |= reaches_above(&step, depth, base) &&
			       !arch_realigns_stack(function->code + offset, function->size - offset);
	if (walk->stays_below && walk->reaches_above)
		fail(walk, VERDICT_no_exit_point);
	if (walk->judge && step.flow == FLOW_CALL) {
		enum call_outcome outcome = walk->judge(step.target, step.slot, false, walk->context);

		if (outcome == OUTCOME_unknown)
			fail(walk, VERDICT_no_exit_point);
		if (outcome != OUTCOME_returns)
			return;
	}
	if (!move_stack(walk, &step, base, &depth)) {
		fail(walk, VERDICT_no_exit_point);
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
			fail(walk, VERDICT_no_exit_point);
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
		fail(walk, VERDICT_no_exit_point);
		return;
	default:
		break;
	}
	if (offset + step.size < function->size) // else a call that does not return, or a trap behind one
		reach(walk, (struct place){ place.run, offset + (uint32_t)step.size }, depth, base);
	else if ((step.flow != FLOW_CALL && step.flow != FLOW_TRAP) || walk->judge)
		fail(walk, VERDICT_no_exit_point);
}

static bool follow(struct walk *walk, const struct whole_function *function)
{
	if (!add_run(walk, function))
		return false;
	reach(walk, (struct place){ 0, 0 }, 0, DEPTH_UNKNOWN);
	while (walk->open_count > 0 && (walk->verdict == VERDICT_ok || walk->goes_on))
		look_at(walk, walk->open[--walk->open_count]);
	return true;
}

static void end_walk(struct walk *walk)
{
	for (size_t i = 0; i < walk->run_count; i++)
		free(walk->runs[i].marks);
	free(walk->open);
}

// The start of the bytes that end with the return at `offset`. False = there is no room.
static bool find_start(const struct run *run, uint32_t offset, uint32_t *start_ret)
{
	const struct whole_function *function = &run->function;
	const struct mark *marks = run->marks;
	uint32_t end = offset + marks[offset].size, start = offset;

	for (;;) {
		uint64_t first = function->address + start, last = first + HS_JUMP_SIZE - 1;
		uint32_t before;

		*start_ret = start;
		if (end - start >= HS_JUMP_SIZE && first / HS_PAGE_SIZE == last / HS_PAGE_SIZE)
			return true;
		for (before = 1; before <= INSTRUCTION_MAX && before <= start && marks[start - before].size != before;
		     before++)
			;
		if (marks[start].is_target || before > INSTRUCTION_MAX || before > start ||
		    start - before < function->taken)
			break;
		start -= before;
		if (marks[start].flow != FLOW_NEXT || !marks[start].movable)
			break;
	}
	// What is behind the function may be padding: who writes the jump looks.
	start = *start_ret;
	return end - start < HS_JUMP_SIZE && end == function->size && function->seen >= start + HS_JUMP_SIZE &&
	       start >= function->taken &&
	       (function->address + start) / HS_PAGE_SIZE ==
		       (function->address + start + HS_JUMP_SIZE - 1) / HS_PAGE_SIZE;
}

static void find_returns(struct walk *walk, struct exit_points *ret)
{
	const struct run *run = &walk->runs[0];

	for (uint32_t i = 0; i < run->function.size && walk->verdict == VERDICT_ok; i++) {
		if (!run->marks[i].size || run->marks[i].flow != FLOW_RETURN)
			continue;
		if (ret->count == HS_EXIT_POINTS_MAX || !find_start(run, i, &ret->offsets[ret->count]))
			fail(walk, VERDICT_no_exit_point);
		else
			ret->count++;
	}
}

void exit_points_find(const struct whole_function *function, struct exit_points *ret)
{
	struct walk walk = { .verdict = VERDICT_ok };

	*ret = (struct exit_points){ .verdict = VERDICT_no_exit_point };
	if (follow(&walk, function)) {
		find_returns(&walk, ret);
		if (walk.verdict != VERDICT_ok || ret->count > 0)
			ret->verdict = walk.verdict;
	}
	end_walk(&walk);
}

bool exit_points_all_pass(const struct whole_function *function,
			  bool (*is_end)(uint64_t target, uint64_t slot, void *context), void *context)
{
	struct walk walk = { .verdict = VERDICT_ok, .is_end = is_end, .context = context };
	bool all = follow(&walk, function) && walk.verdict == VERDICT_ok && !walk.returns;

	end_walk(&walk);
	return all;
}

enum call_outcome exit_points_judge(const struct whole_function *function, bool stays_below, outcome_judge *judge,
				    void *context)
{
	struct walk walk = { .verdict = VERDICT_ok, .judge = judge, .stays_below = stays_below, .context = context };
	bool followed = follow(&walk, function) && walk.verdict == VERDICT_ok;

	end_walk(&walk);
	if (!followed)
		return OUTCOME_unknown;
	return walk.returns ? OUTCOME_returns : OUTCOME_ends;
}

struct code_survey exit_points_survey(const struct whole_function *function, outcome_judge *judge,
				      part_finder *find_part, void *context)
{
	struct walk walk = {
		.verdict = VERDICT_ok, .judge = judge, .find_part = find_part, .goes_on = true, .context = context
	};
	bool followed = follow(&walk, function) && walk.verdict == VERDICT_ok;

	end_walk(&walk);
	return (struct code_survey){
		.returns = walk.returns || !followed,
		.is_complete = followed,
		.reaches_above = walk.reaches_above,
	};
}
