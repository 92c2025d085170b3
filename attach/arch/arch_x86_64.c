// SPDX-License-Identifier: Apache-2.0
#include "attach/arch/arch.h"

#include <cpuid.h>
#include <string.h>
#include <sys/syscall.h>

// Results that never reach user mode; include/linux/errno.h.
enum {
	ERESTARTSYS = 512,
	ERESTARTNOINTR = 513,
	ERESTARTNOHAND = 514,
	ERESTART_RESTARTBLOCK = 516,
};

#define SYSCALL_INSTRUCTION_SIZE 2

// EFLAGS: the trap flag, by which a program steps itself, and the check of alignment. rt_sigreturn brings both back
// (FIX_EFLAGS in arch/x86/kernel/signal_64.c).
#define FLAGS_THAT_RAISE (UINT64_C(1) << 8 | UINT64_C(1) << 18)

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

void arch_end_call(struct user_regs_struct *registers, int64_t result)
{
	registers->rax = (uint64_t)result;
	registers->rip += SYSCALL_INSTRUCTION_SIZE;
}

#define CODE(...)                                                                                                      \
	{                                                                                                              \
		(const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })                             \
	}

__attribute__((no_sanitize("address", "thread", "undefined"))) long arch_own_syscall(long number, long one, long two,
										     long three, long four, long five)
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

const struct arch_code arch_syscall_gadgets[] = {
	CODE(0x0f, 0x05, 0xc3), // syscall; ret
	{ NULL, 0 },
};

const struct arch_code arch_sigreturn_gadgets[] = {
	CODE(0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05), // mov $15,%rax; syscall
	CODE(0xb8, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05),             // mov $15,%eax; syscall
	{ NULL, 0 },
};

const struct arch_code arch_pop_gadgets[] = {
	CODE(0x58, 0xc3), // pop %rax; ret
	{ NULL, 0 },
};

const struct arch_code arch_leave_gadgets[] = {
	CODE(0xc9, 0xc3),                   // leave; ret
	CODE(0x48, 0x89, 0xec, 0x5d, 0xc3), // mov %rbp,%rsp; pop %rbp; ret
	{ NULL, 0 },
};

const uint8_t arch_entry_code[ARCH_ENTRY_CODE_SIZE] = {
	0x0f, 0x05, 0xc3, 0xb8, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05, 0xc9, 0xc3,
};

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

void arch_set_no_call(struct user_regs_struct *registers, uint64_t syscall_gadget, uint64_t stack)
{
	registers->orig_rax = UINT64_MAX;
	registers->rip = syscall_gadget + SYSCALL_INSTRUCTION_SIZE;
	registers->rsp = stack;
}

int64_t arch_call_result(const struct user_regs_struct *registers) { return (int64_t)registers->rax; }

bool arch_is_restart(int64_t result) { return result <= -ERESTARTSYS && result >= -ERESTART_RESTARTBLOCK; }

void arch_read_xsave_layout(struct xsave_layout *ret)
{
	unsigned size, offset, largest, flags;

	memset(ret, 0, sizeof(*ret));
	__cpuid_count(0xd, 0, size, offset, largest, flags);
	ret->total = largest;
	for (unsigned i = 2; i < 63; i++) {
		__cpuid_count(0xd, i, size, offset, largest, flags);
		ret->size[i] = size;
		ret->offset[i] = offset;
	}
}
