// SPDX-License-Identifier: Apache-2.0
// The modules of the process, as the unwinder needs them and as the dump will name them.
#ifndef HEAPSNAP_INJECT_WALK_MODULES_H
#define HEAPSNAP_INJECT_WALK_MODULES_H

#include "inject/payload.h"
#include "unwind/unwind_rule.h"

// The packed rule for a frame's pc (a return address unless `exact`). 0 = the dynamic loader is unloading a library at
// this moment and the pc lies in one that may go: ask again another time.
uint64_t modules_decode_rule(uint64_t pc, bool exact) HS_HIDDEN;

// Whether a call of a loaded object stands before this address.
bool modules_follows_call(uint64_t pc) HS_HIDDEN;

// One full step; *module_ret: module index + 1 of the frame stepped from, 0 = none, with HS_FRAME_EXACT_PC for the code
// that a signal handler returns to. *is_guess: a frame pointer has led to the caller. *cut: enum cut_reason + 1 when
// the step could not be tried at all.
enum step_result modules_step_full(const struct memory_span *stack, struct full_registers *registers,
				   uint32_t *module_ret, bool *is_guess, uint32_t *cut) HS_HIDDEN;

#endif
