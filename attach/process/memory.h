// SPDX-License-Identifier: Apache-2.0
// Reading the target's memory. Writing to it is apart (attach/ptrace/memory_write.h).
#ifndef HEAPSNAP_ATTACH_PROCESS_MEMORY_H
#define HEAPSNAP_ATTACH_PROCESS_MEMORY_H

#include "base/error.h"
#include "base/process.h"
#include "inject/abi/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The page that holds an address.
static inline uint64_t page_of(uint64_t address) { return address & ~(uint64_t)(HS_PAGE_SIZE - 1); }

struct file_pages;

struct target_memory {
	const struct process *process;
	int fd;                         // /proc/PID/mem, read and write; -1 = closed
	const struct file_pages *files; // what was read of the target's files for the time in which it stands still;
					// borrowed; NULL = nothing
};

struct hs_error *target_memory_open(const struct process *process, struct target_memory *ret) HS_MUST_CHECK;
void target_memory_close(struct target_memory *memory);

// Exactly `size` bytes or HS_ERROR_FAULT (HS_ERROR_GONE when the target has no memory left).
struct hs_error *target_memory_read(const struct target_memory *memory, uint64_t address, void *buffer,
				    size_t size) HS_MUST_CHECK;
// As that, but only of pages that are in memory, or in swap; HS_ERROR_FAULT of others. A page of a file that is not
// there is had from whoever provides the file (FUSE, NFS), who may never answer; and no signal but SIGKILL ends that
// wait. What heapsnap or the kernel has written is always there.
struct hs_error *target_memory_read_resident(const struct target_memory *memory, uint64_t address, void *buffer,
					     size_t size) HS_MUST_CHECK;
// Whether the target's memory has these bytes. What cannot be read is not the same.
bool target_memory_equals(const struct target_memory *memory, uint64_t address, const void *bytes, size_t size);
#endif
