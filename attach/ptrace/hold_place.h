// SPDX-License-Identifier: Apache-2.0
// A place in a process's code at which its only thread stops, written into private memory of the process. For
// launch_moment.c.
//
// In an empty function of the loader it is code that raises a signal which is ignored by default
// (attach/arch/raise_code.h): while the thread is traced it stops before the signal is delivered, and where the tool is
// killed meanwhile it goes on, as no handler is set before the program runs. Everywhere else it is a breakpoint, which
// nobody takes out then: the process ends by SIGTRAP when it meets it, or when it stands in its stop (exit_code in
// ptrace_stop, kernel/signal.c).
#ifndef HEAPSNAP_ATTACH_PTRACE_HOLD_PLACE_H
#define HEAPSNAP_ATTACH_PTRACE_HOLD_PLACE_H

#include "attach/arch/raise_code.h"
#include "attach/process/memory.h"
#include "attach/ptrace/stop_wait.h"
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct hold_place {
	uint64_t address; // 0 = none
	bool is_set;
	int signal;                    // that it raises; 0 = it is a breakpoint
	uint8_t code[RAISE_CODE_SIZE]; // what was there; of a breakpoint the first word alone
	// Of a breakpoint: the thread's mask where SIGTRAP is blocked in it, else 0. The kernel takes SIGTRAP out of it
	// when a trap is met (force_sig_info_to_task in kernel/signal.c).
	uint64_t mask;
};

// All: errors as of ptrace_poke; nothing is done where there is no address. pre: the thread stands in a stop whose
// signal, if any, is not to be delivered.
struct hs_error *hold_place_set_breakpoint(pid_t tid, const struct target_memory *memory,
					   struct hold_place *place) HS_MUST_CHECK;
// *fits_ret false: nothing is written, for the function does something, there is no room, or the signals are blocked.
struct hs_error *hold_place_set_raising(pid_t tid, const struct target_memory *memory, struct hold_place *place,
					bool *fits_ret) HS_MUST_CHECK;
// What was there is there again. pre: hold_place_leave
struct hs_error *hold_place_take(pid_t tid, struct hold_place *place) HS_MUST_CHECK;

// Whether the stop is the place's.
struct hs_error *hold_place_is_met(pid_t tid, const struct hold_place *place, const struct stop *stop,
				   bool *ret) HS_MUST_CHECK;
// Pure. Whether a thread at this pc is in the place's code: then what was there may not be written back.
bool hold_place_has(const struct hold_place *place, uint64_t pc);
// After a breakpoint or a single step: SIGTRAP is blocked again, where it was.
struct hs_error *hold_place_block_again(pid_t tid, const struct hold_place *place) HS_MUST_CHECK;
// A thread that stands in the place stands at its beginning afterwards.
struct hs_error *hold_place_leave(pid_t tid, const struct hold_place *place, const struct stop *stop) HS_MUST_CHECK;

#endif
