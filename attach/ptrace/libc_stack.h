// SPDX-License-Identifier: Apache-2.0
// The memory that a libc has given to one of its threads as a stack, from the thread's own control block.
//
// A stack's lower end is not its mapping's start: neighbours of equal rights merge into one mapping, and a guard page
// made by MADV_GUARD_INSTALL (glibc 2.42 on Linux 6.13) does not part them; a program may cut several stacks out of one
// mapping.
#ifndef HEAPSNAP_ATTACH_PTRACE_LIBC_STACK_H
#define HEAPSNAP_ATTACH_PTRACE_LIBC_STACK_H

#include "attach/process/memory.h"
#include "attach/ptrace/threads.h"
#include "inject/abi/libc_block.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Pure. `words`: what stands from the thread pointer on. The first ones of either C library's that fit are taken, if
// they can be read with the guard. false = nothing fits.
bool libc_stack_find(const uint64_t *words, size_t count, uint64_t thread_pointer, struct stack_range *ret);

// Whether the thread has a control block of its own (no other thread has the same thread pointer, and the block holds
// this thread's id, as a libc's does), which names a stack. What cannot be read counts as no. The main thread's block
// names none.
bool libc_stack_read(const struct frozen_process *frozen, const struct frozen_thread *thread,
		     const struct target_memory *memory, struct stack_range *ret);

#endif
