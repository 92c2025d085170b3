// SPDX-License-Identifier: Apache-2.0
// As of aarch64.
#ifndef HEAPSNAP_ATTACH_ARCH_PTRACE_REGISTERS_H
#define HEAPSNAP_ATTACH_ARCH_PTRACE_REGISTERS_H

#include "attach/arch/registers.h"

#include <stdbool.h>
#include <sys/ptrace.h>

long arch_ptrace_get_registers(pid_t tid, arch_registers *ret);
long arch_ptrace_set_registers(pid_t tid, const arch_registers *registers);
bool arch_ptrace_has_shadow_stack(pid_t tid);

#endif
