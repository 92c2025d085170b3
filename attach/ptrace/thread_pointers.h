// SPDX-License-Identifier: Apache-2.0
// The thread pointers of a frozen process's threads, and which of them several threads have.
#ifndef HEAPSNAP_ATTACH_PTRACE_THREAD_POINTERS_H
#define HEAPSNAP_ATTACH_PTRACE_THREAD_POINTERS_H

#include "attach/ptrace/threads.h"
#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct thread_pointers {
	uint64_t *items; // ascending; owned
	size_t count;
};

// Lists those of all threads, as they were stopped.
struct hs_error *thread_pointers_list(const struct frozen_process *frozen, struct thread_pointers *ret) HS_MUST_CHECK;
void thread_pointers_deinit(struct thread_pointers *pointers);

// How many threads have this one; 2 = more than one.
size_t thread_pointers_users(const struct thread_pointers *pointers, uint64_t pointer);

#endif
