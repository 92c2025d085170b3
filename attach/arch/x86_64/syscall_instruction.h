// SPDX-License-Identifier: Apache-2.0
// The instruction that makes a system call, and what the kernel knows such calls by.
#ifndef HEAPSNAP_ATTACH_ARCH_SYSCALL_INSTRUCTION_H
#define HEAPSNAP_ATTACH_ARCH_SYSCALL_INSTRUCTION_H

#include <linux/audit.h>

#define SYSCALL_INSTRUCTION_SIZE 2 // bytes

// What seccomp filters know this kind of system calls by.
#define ARCH_AUDIT AUDIT_ARCH_X86_64

#endif
