// SPDX-License-Identifier: Apache-2.0
// Releases stopped threads. For threads.c.
#ifndef HEAPSNAP_ATTACH_PTRACE_THREAD_RELEASE_H
#define HEAPSNAP_ATTACH_PTRACE_THREAD_RELEASE_H

#include "attach/ptrace/frozen_process.h"
#include "base/error.h"
#include "base/process.h"

#include <stdbool.h>
#include <stddef.h>

// How long one thread is waited for before the others are looked at; ns.
#define HS_THREAD_SLICE UINT64_C(2000000)

// Lets a thread go from its stop, with the registers that it is to have and the call that it repeats, if it does, put
// right. *running_ret: it is in no stop, and still traced. That a thread has died is no error.
struct hs_error *thread_release(const struct process *process, struct frozen_thread *thread,
				bool *running_ret) HS_MUST_CHECK;

// From now on this thread stays traced when it is released: who freezes its process is its tracer before and after. It
// stays in its stop, or goes on. The stops of its exec, of its end and of what it makes are left to be seen: a freeze
// does without it before its end; and so is that of its whole process (SIGSTOP). 0 = none stays traced.
enum kept_thread { KEPT_IN_STOP, KEPT_GOING_ON };
void thread_release_keep(pid_t tid, enum kept_thread how);
// So too of all threads of the process, which go on with these options. Before its end only the main thread stands,
// and a freeze fails then: others may wait for it (an exec). Until thread_release_keep.
void thread_release_keep_all(unsigned long options);
// For the same threads; what it was before.
enum kept_thread thread_release_keep_so(enum kept_thread how);
bool thread_release_keeps(pid_t tid);
bool thread_release_keeps_all(void);

// Lets threads go that are in no stop: in turns, as in collect_threads. Bounded. Overwrites the list. HS_ERROR_TIMEOUT:
// one is still traced, and nobody looks for it (left_threads.h).
struct hs_error *threads_release_running(const struct process *process, struct frozen_thread *threads,
					 size_t count) HS_MUST_CHECK;

// Lets a thread go that is no thread of the target, nor in a stop yet. A call of it that the stop interrupts may return
// EINTR.
struct hs_error *thread_release_foreign(pid_t tid) HS_MUST_CHECK;

// A thread that has called exec has the main thread's id, under which it may be in no list (interrupt_again).
struct hs_error *threads_release_unlisted(const struct process *process) HS_MUST_CHECK;

#endif
