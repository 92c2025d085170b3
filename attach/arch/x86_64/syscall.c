// SPDX-License-Identifier: Apache-2.0
#include "attach/arch/syscall.h"

#include "attach/arch/syscall_instruction.h"
#include "inject/abi/sanitizer_marks.h"

#include <sys/syscall.h>

// Results that never reach user mode; include/linux/errno.h.
enum {
	ERESTARTSYS = 512,
	ERESTARTNOINTR = 513,
	ERESTARTNOHAND = 514,
	ERESTART_RESTARTBLOCK = 516,
};

// arch_do_signal_or_restart in arch/x86/kernel/signal.c: orig_ax is compared as an int, and -1 alone is no call.
enum arch_call_state arch_call_state(const struct user_regs_struct *registers)
{
	if ((int32_t)registers->orig_rax == -1)
		return ARCH_USER_MODE;
	switch ((int64_t)registers->rax) {
	case -ERESTARTSYS:
	case -ERESTARTNOINTR:
	case -ERESTARTNOHAND:
		return ARCH_RESTARTABLE;
	case -ERESTART_RESTARTBLOCK:
		return ARCH_RESTART_BLOCK;
	default:
		return ARCH_USER_MODE;
	}
}

bool arch_rewind_syscall(struct user_regs_struct *registers)
{
	enum arch_call_state state = arch_call_state(registers);

	if (state != ARCH_USER_MODE) {
		registers->rax = state == ARCH_RESTARTABLE ? registers->orig_rax : SYS_restart_syscall;
		registers->rip -= SYSCALL_INSTRUCTION_SIZE;
	}
	registers->orig_rax = UINT64_MAX;
	return state != ARCH_USER_MODE;
}

void arch_repeat_syscall(struct user_regs_struct *registers)
{
	registers->rax = registers->orig_rax;
	registers->rip -= SYSCALL_INSTRUCTION_SIZE;
	registers->orig_rax = UINT64_MAX;
}

long arch_call_number(const struct user_regs_struct *registers)
{
	return (int32_t)registers->orig_rax != -1 ? (long)registers->orig_rax : -1;
}

long arch_call_with_result(const struct user_regs_struct *registers, int64_t result)
{
	return (int64_t)registers->rax == result ? arch_call_number(registers) : -1;
}

uint64_t arch_call_argument(const struct user_regs_struct *registers, unsigned index)
{
	const uint64_t arguments[] = { registers->rdi, registers->rsi, registers->rdx,
				       registers->r10, registers->r8,  registers->r9 };

	return arguments[index];
}

void arch_end_call(struct user_regs_struct *registers, int64_t result)
{
	registers->rax = (uint64_t)result;
	registers->rip += SYSCALL_INSTRUCTION_SIZE;
}

HS_NOT_INSTRUMENTED long arch_own_syscall(long number, long one, long two, long three, long four, long five)
{
	register long fourth __asm__("r10") = four;
	register long fifth __asm__("r8") = five;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(one), "S"(two), "d"(three), "r"(fourth), "r"(fifth)
			 : "rcx", "r11", "memory");
	return result;
}

int64_t arch_call_result(const struct user_regs_struct *registers) { return (int64_t)registers->rax; }

bool arch_is_restart(int64_t result) { return result <= -ERESTARTSYS && result >= -ERESTART_RESTARTBLOCK; }
