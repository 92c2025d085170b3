// SPDX-License-Identifier: Apache-2.0
// A call of rt_sigaction(2) by the only thread of a process that has run none of its program's code yet. For
// hold_place.c.
//
// As remote_call.h, without the search for room and code: a thread whose tool is killed comes home by the frame on its
// stack. Signals are not blocked: what ends or stops the process does so, and no handler is set yet.
#ifndef HEAPSNAP_ATTACH_PTRACE_HOME_CALL_H
#define HEAPSNAP_ATTACH_PTRACE_HOME_CALL_H

#include "attach/arch/guarded_trap.h"
#include "attach/process/memory.h"
#include "base/error.h"

#include <stdint.h>
#include <sys/types.h>

struct home_code {
	uint64_t call;     // address of code that makes a system call and then what is at `restorer`
	uint64_t restorer; // of code that makes rt_sigreturn
};

// What SIGTRAP does. *old_ret: what it did. Registers and memory are as before; an interrupted call of the thread's is
// set back, to be made anew. HS_ERROR_REMOTE: the call failed, and error_number says why; HS_ERROR_GONE; others: it was
// not made, or the thread is on its way home. pre: the thread stands in a stop whose signal, if any, is not to be
// delivered. It stands in the exit of a system call afterwards.
struct hs_error *home_call_handle_trap(pid_t tid, const struct target_memory *memory, const struct home_code *code,
				       const uint8_t action[HS_KERNEL_SIGACTION_SIZE],
				       uint8_t old_ret[HS_KERNEL_SIGACTION_SIZE]) HS_MUST_CHECK;

#endif
