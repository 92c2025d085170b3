// SPDX-License-Identifier: Apache-2.0
// Code by which a remote call is made (attach/ptrace/remote_call.h), as it is found in programs.
#ifndef HEAPSNAP_ATTACH_ARCH_GADGET_CODE_H
#define HEAPSNAP_ATTACH_ARCH_GADGET_CODE_H

#include "attach/arch/gadget_sizes.h"

#include <stddef.h>
#include <stdint.h>

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
extern const uint8_t arch_entry_code[ARCH_ENTRY_CODE_SIZE];

#endif
