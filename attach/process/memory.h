// SPDX-License-Identifier: Apache-2.0
// Reading the target's memory. Writing to it is apart (attach/ptrace/memory_write.h).
#ifndef HEAPSNAP_ATTACH_PROCESS_MEMORY_H
#define HEAPSNAP_ATTACH_PROCESS_MEMORY_H

#include "base/error.h"
#include "base/process.h"
#include "inject/abi/page.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct target_memory {
	const struct process *process;
	int fd;      // /proc/PID/mem, read and write; -1 = closed
	int pagemap; // /proc/PID/pagemap of the same address space; -1 = the kernel has none
};

// Opens /proc/PID/pagemap. *ret is owned by the caller (close); -1 without an error where the kernel has none.
struct hs_error *target_pagemap_open(const struct process *process, int *ret) HS_MUST_CHECK;

// It stays the address space that the process has now, also when the process has executed another program: then it is
// nobody's any more, or that of other processes that shared it (clone with CLONE_VM).
struct hs_error *target_memory_open(const struct process *process, struct target_memory *ret) HS_MUST_CHECK;
void target_memory_close(struct target_memory *memory);

// Opens it once more, in place. *executed_ret: what was open is the memory of a program that the process no longer
// executes, as the kernel's random bytes for each program show (AT_RANDOM). False where the process has none of them,
// or has written the same ones: what is to be changed is proven by the memory that is open then. No page is asked for
// that somebody has to provide, neither of the old memory nor of the new. pre: every thread of the process is stopped,
// so that it executes no other one. On failure the old one stays open.
struct hs_error *target_memory_open_again(struct target_memory *memory, bool *executed_ret) HS_MUST_CHECK;

// While the target stands still: HS_ERROR_REFUSED where a page of the range is not in memory, and is not anonymous or
// of the kernel's own file system for memory files, but has to be had from whoever provides its file, who may never
// answer. Asked by target_memory_read and target_memory_write.
struct hs_error *target_memory_check_present(const struct target_memory *memory, uint64_t address,
					     size_t size) HS_MUST_CHECK;
// Asks for the pages that were refused so in the last standstill. pre: the target does not stand still.
void target_memory_fetch_lacked(const struct target_memory *memory);

// Exactly `size` bytes or HS_ERROR_FAULT (HS_ERROR_GONE when the target has no memory left).
struct hs_error *target_memory_read(const struct target_memory *memory, uint64_t address, void *buffer,
				    size_t size) HS_MUST_CHECK;
// Whether all pages of the range are in memory, or in swap; they are taken to be where the kernel has no pagemap.
enum residence {
	RESIDENCE_THERE,
	RESIDENCE_ABSENT,  // one is not
	RESIDENCE_UNKNOWN, // the kernel was asked, and did not say
};
enum residence target_memory_residence(const struct target_memory *memory, uint64_t address, size_t size);
static inline bool target_memory_is_resident(const struct target_memory *memory, uint64_t address, size_t size)
{
	return target_memory_residence(memory, address, size) == RESIDENCE_THERE;
}
// As target_memory_read, but only of pages that are resident; HS_ERROR_FAULT of others. A page of a file that is not
// there is had from whoever provides the file (FUSE, NFS), who may never answer; and no signal but SIGKILL ends that
// wait. What heapsnap or the kernel has written is always there.
struct hs_error *target_memory_read_resident(const struct target_memory *memory, uint64_t address, void *buffer,
					     size_t size) HS_MUST_CHECK;
// Whether the target's memory has these bytes. What cannot be read is not the same.
bool target_memory_equals(const struct target_memory *memory, uint64_t address, const void *bytes, size_t size);
#endif
