// SPDX-License-Identifier: Apache-2.0
// As of aarch64.
#ifndef HEAPSNAP_ATTACH_ARCH_SYSCALL_INSTRUCTION_H
#define HEAPSNAP_ATTACH_ARCH_SYSCALL_INSTRUCTION_H

#include <linux/audit.h>

#define SYSCALL_INSTRUCTION_SIZE 4
#define ARCH_AUDIT               AUDIT_ARCH_AARCH64

#endif
