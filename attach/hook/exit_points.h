// SPDX-License-Identifier: Apache-2.0
// Where a function returns: all places, proved by following its code from its start. A hook there sees the result of a
// function that is to run without a frame of ours.
#ifndef HEAPSNAP_ATTACH_HOOK_EXIT_POINTS_H
#define HEAPSNAP_ATTACH_HOOK_EXIT_POINTS_H

#include "attach/arch/code_step.h"
#include "inject/abi/records.h"

#define HS_EXIT_POINTS_MAX 16u

// Where the bytes of a function begin that end with a return, and may be overwritten by a jump: whole instructions, of
// which only the first can be reached by a branch, and then perhaps padding.
struct exit_points {
	enum hook_verdict verdict;
	uint32_t offsets[HS_EXIT_POINTS_MAX]; // from the function's start
	size_t count;
};

// A whole function: all of its code, and what of it is overwritten at its start.
struct whole_function {
	const uint8_t *code;
	size_t size;      // bytes, at most HS_WHOLE_FUNCTION_MAX
	size_t seen;      // >= size: what is known behind it, padding perhaps
	uint64_t address; // where it runs
	size_t taken;     // bytes at its start that are not free
};
#define HS_WHOLE_FUNCTION_MAX 65536u

// Pure. VERDICT_ok: wherever it returns, the stack pointer is what it was at its start, and there is room for a jump.
// It may also leave by jumps, while it has a frame of its own: to a part that a compiler has moved away, which throws
// or ends the program. What returns there is not seen.
void exit_points_find(const struct whole_function *function, struct exit_points *ret);

// Pure. Whether it never returns, nor leaves by a jump, without having called or jumped to a function for which
// `is_end` holds.
bool exit_points_all_pass(const struct whole_function *function,
			  bool (*is_end)(uint64_t target, uint64_t slot, void *context), void *context);

// How a function that is called, or jumped to, is left.
enum call_outcome {
	OUTCOME_unknown, // perhaps by an exception, or because its thread is cancelled
	OUTCOME_returns, // only by its return
	OUTCOME_ends,    // not at all: the program ends there
};

// What is said of a function that is called, or jumped to: `target` and `slot` as in struct code_branch, both 0 =
// through a register or a table. `in_place`: it is jumped to, with the caller's return address on top of the stack.
typedef enum call_outcome outcome_judge(uint64_t target, uint64_t slot, bool in_place, void *context);

// Pure. How the function itself is left, given what `judge` says. `stays_below`: unknown too where it reads, writes or
// takes the address of its return address, or of what is above it, its arguments on the stack, by the stack pointer or
// by the frame pointer as its frame's base: it is to be called with other things there.
enum call_outcome exit_points_judge(const struct whole_function *function, bool stays_below, outcome_judge *judge,
				    void *context);

// What is seen of a function wherever it can be followed, whatever speaks against it.
struct code_survey {
	bool returns;       // perhaps: somewhere, or it could not be followed everywhere
	bool is_complete;   // all of it was followed. What it calls is for `judge` to know
	bool reaches_above; // for what `stays_below` forbids
};

// The code at `target`, of another part of the same function, which a compiler has moved away: it runs with the frame
// of the function. False = none is there.
typedef bool part_finder(uint64_t target, struct whole_function *ret, void *context);

// Pure. `judge` says whether a call or a jump ends; what is not known to end comes back.
struct code_survey exit_points_survey(const struct whole_function *function, outcome_judge *judge,
				      part_finder *find_part, void *context);

#endif
