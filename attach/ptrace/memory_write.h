// SPDX-License-Identifier: Apache-2.0
// Writing to the target's memory. It works on read-only pages too (through /proc/PID/mem; a private page is copied by
// the kernel), and falls back to PTRACE_POKEDATA where the kernel forbids forced writes.
#ifndef HEAPSNAP_ATTACH_PTRACE_MEMORY_WRITE_H
#define HEAPSNAP_ATTACH_PTRACE_MEMORY_WRITE_H

#include "attach/process/memory.h"
#include "base/error.h"

// pre: some thread of the target is stopped by this tool (for the fallback), named by `stopped_tid`; 0 = no fallback.
struct hs_error *target_memory_write(const struct target_memory *memory, uint64_t address, const void *data,
				     size_t size, pid_t stopped_tid) HS_MUST_CHECK;

#endif
