// SPDX-License-Identifier: Apache-2.0
// Freezing and thawing: every thread of the target stopped, for a short and measured time.
#ifndef HEAPSNAP_ATTACH_PTRACE_THREADS_H
#define HEAPSNAP_ATTACH_PTRACE_THREADS_H

#include "attach/guard/standstill.h"
#include "attach/process/memory.h"
#include "attach/ptrace/frozen_process.h"
#include "base/error.h"
#include "base/process.h"

#include <stdbool.h>

// How often a freeze is tried when the target was not as it was to be (a library loaded meanwhile, say).
#define HS_FREEZE_TRIES 15

// Seizes and stops every thread, until no new one appears. Waits at most `timeout_ms` in all. On failure nothing is
// stopped or traced any more: HS_ERROR_TIMEOUT names a thread that did not stop and its state, HS_ERROR_GONE,
// HS_ERROR_INTERRUPTED (see interrupt.h), HS_ERROR_SYSTEM (not permitted, traced by another).
// A thread that is gone, dead, or runs no code of the program any more (ending_threads.h) is left out. Group-stopped
// threads are taken as they are and stay stopped afterwards. A thread in uninterruptible sleep cannot be released while
// it sleeps: the kernel does it when the tool ends. TIMEOUT error: end the tool soon.
struct hs_error *threads_freeze(const struct process *process, unsigned timeout_ms,
				struct frozen_process *ret) HS_MUST_CHECK;

// So too, the process of `memory`, which then is opened again: it may have executed another program since it was opened
// for a plan, and others may go on in the old memory. Whoever changes memory freezes by this. ret->has_executed: what
// was read of it before is that of another program (target_memory_open_again).
struct hs_error *threads_freeze_memory(struct target_memory *memory, unsigned timeout_ms,
				       struct frozen_process *ret) HS_MUST_CHECK;

// pre: the thread is stopped, and no remote call is open in it.
struct hs_error *threads_read_signal_mask(struct frozen_thread *thread) HS_MUST_CHECK;

// Writes changed registers, resumes and releases every thread, goes on after a failure, frees *frozen. Threads that
// died are no error.
struct hs_error *threads_thaw(struct frozen_process *frozen) HS_MUST_CHECK;

// Lets the chosen threads run on for about `wait_us` while the others stand, then stops them again, and those that they
// have made. On failure all is thawed, as by threads_freeze.
struct hs_error *threads_run_on(struct frozen_process *frozen, bool (*chosen)(const struct frozen_thread *, void *),
				void *context, unsigned wait_us, unsigned timeout_ms) HS_MUST_CHECK;

#endif
