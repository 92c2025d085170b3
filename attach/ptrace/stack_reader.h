// SPDX-License-Identifier: Apache-2.0
// Reading the stacks of stopped threads: never past what is the thread's own, and never a page that somebody would
// first have to provide.
#ifndef HEAPSNAP_ATTACH_PTRACE_STACK_READER_H
#define HEAPSNAP_ATTACH_PTRACE_STACK_READER_H

#include "attach/process/memory.h"
#include "attach/ptrace/threads.h"
#include "base/error.h"
#include "base/proc_maps.h"

#include <stdbool.h>

struct stack_reader {
	const struct target_memory *memory; // without a pagemap all pages are taken to be there
	const struct proc_maps *maps;       // the target's now
};

struct stack_span {
	uint64_t low, high; // [low, high) may hold live frames: from the stack pointer up, whole words; equal = no
			    // stack is there
	bool is_proven; // `high` is known to end the thread's stack; else the mapping, which may hold more than stacks,
			// ends there
};

// Pure. A thread's control block lies above its stack, in the same memory: no frame is at or above it. Another stack
// may be, in the same mapping (the guard between them need not be one: MADV_GUARD_INSTALL, or none at all).
struct stack_span stack_span_of(const arch_registers *registers, const struct proc_maps *maps);

// Copies [address, address + size) up to the first page that cannot be read: that ends a stack. *size_ret: bytes
// copied, whole words. No page is asked for that is not there. Somebody would have to provide it (userfaultfd(2)), who
// may be stopped; /proc/PID/mem does not wait for that but fails (mm/gup.c: without FOLL_UNLOCKABLE a fault is not
// retried, and handle_userfault gives up), as if the stack ended there. In private memory such a page was never
// written, and reads as zeros here. In shared memory it ends the copy, and *is_known_ret is false: what lies there is
// not known.
struct hs_error *stack_reader_copy(const struct stack_reader *reader, uint64_t address, void *buffer, size_t size,
				   size_t *size_ret, bool *is_known_ret) HS_MUST_CHECK;

// How many bytes of [address, end) from `address` on were never written: at most those of 512 pages. pre: address < end
uint64_t stack_reader_never_written(const struct stack_reader *reader, uint64_t address, uint64_t end);

#endif
