// SPDX-License-Identifier: Apache-2.0
// What differs between processors when a thread is stopped and sent through a system call. One file arch_<name>.c each.
//
// Porting: the kernel's rules for restarting an interrupted call (arch/<name>/kernel/signal.c), the system call
// instruction and its register convention, and the code that leads to rt_sigreturn. The frame that it reads is in
// sigframe.c.
#ifndef HEAPSNAP_ATTACH_ARCH_ARCH_H
#define HEAPSNAP_ATTACH_ARCH_ARCH_H

#include "attach/arch/sigframe.h"

#include <linux/audit.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/user.h>

enum arch_call_state {
	ARCH_USER_MODE,     // not in a system call, or in one that has its result
	ARCH_RESTARTABLE,   // interrupted in a call that is simply repeated
	ARCH_RESTART_BLOCK, // interrupted in one that continues by restart_syscall(2) and the kernel's own notes
};

enum arch_call_state arch_call_state(const struct user_regs_struct *registers);
bool arch_rewind_syscall(struct user_regs_struct *registers); // see threads_rewind_syscall
// Sets the registers back to before the call, so that it is made anew with its own number and arguments, where the
// kernel would make restart_syscall(2) of it (ARCH_RESTART_BLOCK) or let it return its result.
void arch_repeat_syscall(struct user_regs_struct *registers);

// What seccomp filters know this kind of system calls by.
#define ARCH_AUDIT AUDIT_ARCH_X86_64

// The number of the call that the thread has come to the end of, or was interrupted in; -1 = none.
long arch_call_number(const struct user_regs_struct *registers);
// The number of the call that the thread has come to the end of with this result; -1 = none.
long arch_call_with_result(const struct user_regs_struct *registers, int64_t result);
// pre: set back by arch_repeat_syscall. The registers at the end of the call again, with this result.
void arch_end_call(struct user_regs_struct *registers, int64_t result);

// A system call of the tool itself that leaves errno alone: the result, or an error number below 0.
long arch_own_syscall(long number, long one, long two, long three, long four, long five);

// Bytes below the stack pointer that belong to the running function.
#define ARCH_RED_ZONE 128

// The code pieces; a size of 0 ends each list.
struct arch_code {
	const uint8_t *bytes;
	size_t size;
};
extern const struct arch_code
	arch_syscall_gadgets[]; // make a system call, then return to the address at the stack pointer
extern const struct arch_code arch_sigreturn_gadgets[]; // rt_sigreturn
extern const struct arch_code arch_pop_gadgets[]; // take the number of the system call from the stack, then return
extern const struct arch_code
	arch_leave_gadgets[]; // take the stack pointer from the frame pointer, pop this, then return
// The first syscall gadget, the first short sigreturn gadget and the first leave gadget, for the program's entry point.
#define ARCH_ENTRY_CODE_SIZE        12
#define ARCH_ENTRY_SIGRETURN_OFFSET 3
#define ARCH_ENTRY_LEAVE_OFFSET     10
extern const uint8_t arch_entry_code[ARCH_ENTRY_CODE_SIZE];

// Whether the thread's flags make the processor raise signals at instructions that do nothing wrong (single steps of
// its own). In a call for the tool, where every signal is blocked, the kernel would take away the handler
// (force_sig_info_to_task in kernel/signal.c).
bool arch_raises_signals(const struct user_regs_struct *registers);

// Parked: at the leave gadget, with the thread's own stack pointer, about to take `stack` - 8 for it and so to return
// to the address at `stack`. A thread let go from here comes home. Without such a gadget (0): at the syscall
// instruction, about to make rt_sigreturn on the frame. With no flags that raise signals: the frame brings them back,
// or whoever sets the thread's own registers.
void arch_park(struct user_regs_struct *registers, uint64_t leave_gadget, uint64_t syscall_gadget, uint64_t stack,
	       uint64_t frame);
// pre: registers were read at the entry stop of the parked thread's call. Makes it another call, which returns into the
// frame. `stack`: the stack pointer in the call, where the address stands that it returns to.
void arch_set_call(struct user_regs_struct *registers, long number, const uint64_t arguments[6],
		   uint64_t syscall_gadget, uint64_t stack);
// pre: as above. Makes it no call at all.
void arch_set_no_call(struct user_regs_struct *registers, uint64_t syscall_gadget, uint64_t stack);
int64_t arch_call_result(const struct user_regs_struct *registers);
// A result that says that the call was interrupted and did nothing.
bool arch_is_restart(int64_t result);

// The processor's; the same for the tool and the target.
void arch_read_xsave_layout(struct xsave_layout *ret);

#endif
