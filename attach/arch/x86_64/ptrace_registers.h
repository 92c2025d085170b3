// SPDX-License-Identifier: Apache-2.0
// The requests to ptrace(2) that differ between processors. For ptrace_call.c alone; results and errno as of ptrace.
#ifndef HEAPSNAP_ATTACH_ARCH_PTRACE_REGISTERS_H
#define HEAPSNAP_ATTACH_ARCH_PTRACE_REGISTERS_H

#include "attach/arch/registers.h"

#include <stdbool.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

// Newer than the C library's headers (include/uapi/linux/elf.h).
#define HS_NT_X86_SHSTK 0x204

// Not PTRACE_GETREGSET: what that gives follows the mode that the thread is in just now (task_user_regset_view in
// arch/x86/kernel/ptrace.c).
static inline long arch_ptrace_get_registers(pid_t tid, arch_registers *ret)
{
	return ptrace(PTRACE_GETREGS, tid, NULL, ret);
}

static inline long arch_ptrace_set_registers(pid_t tid, const arch_registers *registers)
{
	return ptrace(PTRACE_SETREGS, tid, NULL, registers);
}

static inline bool arch_ptrace_has_shadow_stack(pid_t tid)
{
	uint64_t shadow_stack_pointer = 0;
	struct iovec vector = { &shadow_stack_pointer, sizeof(shadow_stack_pointer) };

	return ptrace(PTRACE_GETREGSET, tid, (void *)HS_NT_X86_SHSTK, &vector) == 0 && vector.iov_len > 0;
}

#endif
