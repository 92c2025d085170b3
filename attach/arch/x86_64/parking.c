// SPDX-License-Identifier: Apache-2.0
#include "attach/arch/parking.h"

#include "attach/arch/syscall_instruction.h"

#include <sys/syscall.h>

// EFLAGS: the trap flag, by which a program steps itself, and the check of alignment. rt_sigreturn brings both back
// (FIX_EFLAGS in arch/x86/kernel/signal_64.c).
#define FLAGS_THAT_RAISE (UINT64_C(1) << 8 | UINT64_C(1) << 18)

bool arch_raises_signals(const struct user_regs_struct *registers)
{
	return (registers->eflags & FLAGS_THAT_RAISE) != 0;
}

void arch_park(struct user_regs_struct *registers, uint64_t leave_gadget, uint64_t syscall_gadget, uint64_t stack,
	       uint64_t frame)
{
	registers->orig_rax = UINT64_MAX; // or the kernel would think of restarting a call and move rip
	registers->eflags &= ~FLAGS_THAT_RAISE;
	if (leave_gadget) {
		registers->rip = leave_gadget;
		registers->rbp = stack - sizeof(uint64_t);
		return;
	}
	registers->rip = syscall_gadget;
	// rt_sigreturn finds the frame 8 bytes below, where a handler's return would have taken the restorer's address
	// from
	registers->rsp = frame + 8;
	registers->rax = SYS_rt_sigreturn;
}

void arch_set_call(struct user_regs_struct *registers, long number, const uint64_t arguments[6],
		   uint64_t syscall_gadget, uint64_t stack)
{
	registers->orig_rax = (uint64_t)number; // what the kernel calls after the entry stop: syscall_trace_enter
	registers->rdi = arguments[0];
	registers->rsi = arguments[1];
	registers->rdx = arguments[2];
	registers->r10 = arguments[3];
	registers->r8 = arguments[4];
	registers->r9 = arguments[5];
	registers->rip = syscall_gadget + SYSCALL_INSTRUCTION_SIZE; // where the `ret` is
	registers->rsp = stack;
}

void arch_start_call(struct user_regs_struct *registers, long number, const uint64_t arguments[6],
		     uint64_t syscall_gadget, uint64_t stack)
{
	arch_set_call(registers, number, arguments, syscall_gadget, stack);
	registers->rax = (uint64_t)number;
	registers->orig_rax = UINT64_MAX; // as in arch_park
	registers->eflags &= ~FLAGS_THAT_RAISE;
	registers->rip = syscall_gadget;
}

void arch_set_no_call(struct user_regs_struct *registers, uint64_t syscall_gadget, uint64_t stack)
{
	registers->orig_rax = UINT64_MAX;
	registers->rip = syscall_gadget + SYSCALL_INSTRUCTION_SIZE;
	registers->rsp = stack;
}

void arch_parked_frames(const struct user_regs_struct *registers, uint64_t ret[2])
{
	ret[0] = registers->rbp + 8;
	ret[1] = registers->rbp + 24;
}
