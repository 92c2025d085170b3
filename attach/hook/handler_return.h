// SPDX-License-Identifier: Apache-2.0
// Signal handlers that will return into the middle of what is about to be patched: they have interrupted a function
// behind its first instruction, and the pc that they return to lies in a frame of the kernel's on the stack.
#ifndef HEAPSNAP_ATTACH_HOOK_HANDLER_RETURN_H
#define HEAPSNAP_ATTACH_HOOK_HANDLER_RETURN_H

#include "attach/hook/hook_plan.h"
#include "attach/process/memory.h"
#include "attach/ptrace/threads.h"
#include "base/error.h"
#include "base/proc_maps.h"

// HS_ERROR_REFUSED names a thread that runs such a handler. Looked at are the stacks that the threads are on, from
// their stack pointers up, and those from which a handler came that runs on an alternate stack: 64 MiB in all, each
// thread's share of that, and 64 KiB of each at least. pre: every thread is stopped; `maps` are the target's now.
struct hs_error *handler_return_check(const struct hook_plan *plan, const struct frozen_process *frozen,
				      const struct proc_maps *maps, const struct target_memory *memory) HS_MUST_CHECK;

#endif
