// SPDX-License-Identifier: Apache-2.0
// The registers of a thread that makes calls for the tool (attach/ptrace/remote_call.h).
#ifndef HEAPSNAP_ATTACH_ARCH_PARKING_H
#define HEAPSNAP_ATTACH_ARCH_PARKING_H

#include "attach/arch/registers.h"

#include <stdbool.h>
#include <stdint.h>

// Whether the thread's flags make the processor raise signals at instructions that do nothing wrong (single steps of
// its own). In a call for the tool, where every signal is blocked, the kernel would take away the handler
// (force_sig_info_to_task in kernel/signal.c).
bool arch_raises_signals(const arch_registers *registers);

// Parked: at the leave gadget, with the thread's own stack pointer, about to take `stack` - 8 for it and so to return
// to the address at `stack`. A thread let go from here comes home. Without such a gadget (0): at the syscall
// instruction, about to make rt_sigreturn on the frame. With no flags that raise signals: the frame brings them back,
// or whoever sets the thread's own registers.
void arch_park(arch_registers *registers, uint64_t leave_gadget, uint64_t syscall_gadget, uint64_t stack,
	       uint64_t frame);
// A thread in user mode, let go, makes the call by itself, and goes on behind the syscall instruction. With no flags
// that raise signals.
void arch_start_call(arch_registers *registers, long number, const uint64_t arguments[6], uint64_t syscall_gadget,
		     uint64_t stack);
// pre: registers were read at the entry stop of the parked thread's call. Makes it another call, which returns into the
// frame. `stack`: the stack pointer in the call, where the address stands that it returns to.
void arch_set_call(arch_registers *registers, long number, const uint64_t arguments[6], uint64_t syscall_gadget,
		   uint64_t stack);
// pre: as above. Makes it no call at all.
void arch_set_no_call(arch_registers *registers, uint64_t syscall_gadget, uint64_t stack);

// The two places at which a parked thread's frame may lie, seen from its registers: without and with a pop gadget.
void arch_parked_frames(const arch_registers *registers, uint64_t ret[2]);

#endif
