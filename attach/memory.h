// SPDX-License-Identifier: Apache-2.0
// Reading and writing the target's memory. Writing works on read-only pages too (through /proc/PID/mem; a private page is
// copied by the kernel), and falls back to PTRACE_POKETEXT where the kernel forbids forced writes.
#ifndef HEAPSNAP_ATTACH_MEMORY_H
#define HEAPSNAP_ATTACH_MEMORY_H

#include "base/error.h"
#include "inject/abi/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// The page that holds an address.
static inline uint64_t page_of(uint64_t address) { return address & ~(uint64_t)(HS_PAGE_SIZE - 1); }

struct file_pages;

struct target_memory {
	pid_t pid;
	int fd; // /proc/PID/mem, read and write; -1 = closed
	const struct file_pages *files; // what was read of the target's files for the time in which it stands still; borrowed; NULL = nothing
};

struct hs_error *target_memory_open(pid_t pid, struct target_memory *ret) HS_MUST_CHECK;
void target_memory_close(struct target_memory *memory);

// Exactly `size` bytes or HS_ERROR_FAULT (HS_ERROR_GONE when the target has no memory left).
struct hs_error *target_memory_read(const struct target_memory *memory, uint64_t address, void *buffer, size_t size)
	HS_MUST_CHECK;
// Whether the target's memory has these bytes. What cannot be read is not the same.
bool target_memory_equals(const struct target_memory *memory, uint64_t address, const void *bytes, size_t size);
// pre: some thread of the target is stopped by this tool (for the fallback), named by `stopped_tid`; 0 = no fallback.
struct hs_error *target_memory_write(const struct target_memory *memory, uint64_t address, const void *data,
				     size_t size, pid_t stopped_tid) HS_MUST_CHECK;

#endif
