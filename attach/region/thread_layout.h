// SPDX-License-Identifier: Apache-2.0
// Where threads of the target keep their kernel id and the bounds of their stacks: what the libc says
// (attach/elf/libc_symbols.h), and what is seen in real threads.
#ifndef HEAPSNAP_ATTACH_REGION_THREAD_LAYOUT_H
#define HEAPSNAP_ATTACH_REGION_THREAD_LAYOUT_H

#include "attach/elf/modules.h"
#include "attach/process/memory.h"
#include "attach/process/target.h"
#include "attach/ptrace/threads.h"
#include "base/proc_maps.h"
#include "inject/abi/payload_header.h"

// Refuses a process in which two threads have the same thread pointer (they were made by a bare clone without
// CLONE_SETTLS): the payload knows a thread by it, and would take them for one. And, where the payload cannot read it
// without memory behind it, one with a thread that has none. pre: the process is stopped
struct hs_error *thread_layout_check(const struct target_memory *memory,
				     const struct frozen_process *frozen) HS_MUST_CHECK;

// *ret: how many threads have no thread pointer. The payload knows a thread by it, and records nothing of these.
// HS_ERROR_REFUSED: none has one, and it has no C library that would yet set one up. Pure. pre: the process is stopped
struct hs_error *thread_layout_count_unseen(enum libc_kind libc, const struct frozen_process *frozen,
					    size_t *ret) HS_MUST_CHECK;

// Fills what the payload must know of threads. pre: the process is stopped.
void thread_layout_configure(const struct target_info *target, const struct proc_maps *maps,
			     const struct module_list *modules, const struct target_memory *memory,
			     const struct frozen_process *frozen, struct payload_config *config);

#endif
