// SPDX-License-Identifier: Apache-2.0
// System calls of a stopped thread: which one it is in, and how that is made anew.
//
// Porting: the kernel's rules for restarting an interrupted call (arch/<name>/kernel/signal.c), the system call
// instruction and its register convention.
#ifndef HEAPSNAP_ATTACH_ARCH_SYSCALL_H
#define HEAPSNAP_ATTACH_ARCH_SYSCALL_H

#include "attach/arch/registers.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum arch_call_state {
	ARCH_USER_MODE,     // not in a system call, or in one that has its result
	ARCH_RESTARTABLE,   // interrupted in a call that is simply repeated
	ARCH_RESTART_BLOCK, // interrupted in one that continues by restart_syscall(2) and the kernel's own notes
};

enum arch_call_state arch_call_state(const arch_registers *registers);
// Rewinds an interrupted system call, as the kernel would before it returns to user mode, so that `registers` can
// be set while the thread is elsewhere in the meantime: -ERESTARTSYS, -ERESTARTNOINTR, -ERESTARTNOHAND repeat the call,
// -ERESTART_RESTARTBLOCK becomes restart_syscall(2). The number of the call is gone then. Returns false when no call
// was interrupted.
bool arch_rewind_syscall(arch_registers *registers);
// Sets the registers back to before the call, so that it is made anew with its own number and arguments, where the
// kernel would make restart_syscall(2) of it (ARCH_RESTART_BLOCK) or let it return its result.
void arch_repeat_syscall(arch_registers *registers);

// The number of the call that the thread has come to the end of, or was interrupted in; -1 = none.
long arch_call_number(const arch_registers *registers);
// The number of the call that the thread has come to the end of with this result; -1 = none.
long arch_call_with_result(const arch_registers *registers, int64_t result);
// What it was called with, from 0 to 5.
uint64_t arch_call_argument(const arch_registers *registers, unsigned index);
// pre: set back by arch_repeat_syscall. The registers at the end of the call again, with this result.
void arch_end_call(arch_registers *registers, int64_t result);

// A system call of the tool itself that leaves errno alone: the result, or an error number below 0.
long arch_own_syscall(long number, long one, long two, long three, long four, long five);

int64_t arch_call_result(const arch_registers *registers);
// A result that says that the call was interrupted and did nothing.
bool arch_is_restart(int64_t result);

#endif
