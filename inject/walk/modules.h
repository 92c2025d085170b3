// SPDX-License-Identifier: Apache-2.0
// The modules of the process, as the unwinder needs them and as the dump will name them.
#ifndef HEAPSNAP_INJECT_WALK_MODULES_H
#define HEAPSNAP_INJECT_WALK_MODULES_H

#include "inject/payload.h"
#include "unwind/unwind_rule.h"

// The packed rule for a frame's pc (a return address unless `exact`). 0 = the dynamic loader is unloading a library at
// this moment and the pc lies in one that may go: ask again another time.
uint64_t modules_decode_rule(uint64_t pc, bool exact) HS_HIDDEN;

// Whether a return address that was found by a frame pointer alone may be one: the instruction before it is a call.
// `from_module`: the frame that was left is that of a loaded object, not of code made at run time; only the latter is
// called by code that nobody knows.
bool modules_follows_call(uint64_t pc, bool from_module) HS_HIDDEN;

// One full step; *module_ret: module index + 1 of the frame stepped from, 0 = none, with HS_FRAME_EXACT_PC for the code
// that a signal handler returns to. *cut: enum cut_reason + 1 when the step could not be tried at all.
enum step_result modules_step_full(const struct memory_span *stack, struct full_registers *registers,
				   uint32_t *module_ret, uint32_t *cut) HS_HIDDEN;

#endif
