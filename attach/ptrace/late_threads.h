// SPDX-License-Identifier: Apache-2.0
// Threads that still have a call to make for a tool that was killed.
//
// When the tool dies the kernel releases the thread that makes its calls, and that thread makes the one that stands in
// its registers when it gets a processor: a moment later, or much later on a busy machine. What the call makes (a
// memory file, a mapping) is not there until then, so whoever looks before finds nothing and says so, and is wrong a
// moment later.
//
// Nobody sees the registers of a thread that is not stopped. But what the kernel tells everybody is its signal mask,
// and that shows it: every signal is blocked before the thread's first call (remote_call.c), and the frame that brings
// it home sets the mask back. So a thread that has one signal free has no call to make. Of the few that block them all
// by themselves (a C library does for moments, the kernel's own workers always) it is asked further:
// - one that is stopped by a signal has made its call, for it stops on the way back from it;
// - one that sleeps tells its stack pointer (/proc/PID/task/TID/syscall), and in a call of ours that is right below our
//   frame;
// - one that runs, or waits for a processor, tells nothing. It is waited for: until it tells, or has had a processor
//   for so long that it has made any call that leaves nothing before it ends.
#ifndef HEAPSNAP_ATTACH_PTRACE_LATE_THREADS_H
#define HEAPSNAP_ATTACH_PTRACE_LATE_THREADS_H

#include "base/error.h"
#include "base/process.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct late_call {
	pid_t tid;       // of a thread that may have one to make, still; 0 = none has
	bool is_certain; // our frame lies at its stack pointer. false: it runs, or waits for a processor, and may be
			 // the program's own
};

// The search in one process, for who looks at several of them: each is begun, then all are waited for together, then
// each is ended. `process` is borrowed until then. HS_ERROR_NO_MEMORY.
struct late_search;
struct hs_error *late_search_begin(const struct process *process, struct late_search **ret) HS_MUST_CHECK;
// Whether no thread is left that may have a call to make; also of NULL.
bool late_search_is_over(const struct late_search *search);
uint64_t late_search_deadline(void); // 3 seconds from now: CLOCK_MONOTONIC, ns
// Until no thread of any is left, or the deadline, or a signal (interrupt.h).
void late_searches_wait(struct late_search *const *searches, size_t count, uint64_t deadline);
// What is not over then may have a call to make. Of NULL: none has.
void late_search_end(struct late_search *search, struct late_call *ret);

// All of it for one process. Waits, 3 seconds at most, and less on a signal (interrupt.h), until no thread of the
// process has a call to make. What is looked for afterwards is there, or will not come. What may not be looked at
// counts as none.
void late_threads_wait(const struct process *process, struct late_call *ret);

// HS_ERROR_NOT_FOUND, for a process that has nothing of ours but perhaps the call that this thread makes: it is not
// known to have been touched at all.
struct hs_error *late_call_unknown(const struct process *process, pid_t tid) HS_MUST_CHECK;

enum late_thread {
	LATE_THREAD_NONE,
	LATE_THREAD_RUNS,  // its registers cannot be known
	LATE_THREAD_WAITS, // late if our frame lies at its stack pointer
};

// Pure: what the thread's files `status` and `syscall` say. *stack_ret: its stack pointer, if it waits.
enum late_thread late_thread_judge(const char *status, const char *syscall, uint64_t *stack_ret);

#endif
