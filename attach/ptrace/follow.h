// SPDX-License-Identifier: Apache-2.0
// A child of the tool, followed while it runs: one thread of it is traced, for two events only. It executes another
// program, and it is about to end, with its memory still there. Whatever else that thread stops for is a signal, which
// the tool passes on at once.
//
// What that costs the process: signals that this thread gets go by way of the tool, also those that it ignores, and
// nobody else can trace it. So the tool must never keep the process waiting, and follow_look never waits.
#ifndef HEAPSNAP_ATTACH_PTRACE_FOLLOW_H
#define HEAPSNAP_ATTACH_PTRACE_FOLLOW_H

#include "attach/process/started_processes.h"
#include "base/error.h"
#include "base/process.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct follow {
	const struct process *process;
	pid_t tid; // the thread that is traced; 0 = none
	// one that stood before its end when that one was taken, and stands there still; 0 = none
	pid_t standing;
	uint64_t standing_until; // CLOCK_MONOTONIC, ns
	unsigned left;           // threads that were let go to their end, and are to be reaped
	bool was_ending;         // the thread stood before its end when it was looked at last
	bool misses_exec;        // another thread has executed a program, in which it cannot be traced
	// whose ends were told to the followed thread, and what follow_look_for_children has seen
	struct started_processes started;
	bool is_stopped; // in a stop of the whole process (SIGSTOP, Ctrl-Z), from which SIGCONT wakes it
};

enum follow_event {
	FOLLOW_NONE,
	FOLLOW_MISSED,   // has executed another program, which runs
	FOLLOW_EXECUTED, // stands right behind an exec: launch_hold, or follow_go_on
	FOLLOW_ENDING,   // no thread of it will run any more, and its memory is there until follow_go_on
	FOLLOW_ENDED,    // and can be waited for
	FOLLOW_STARTED,  // has made a process (follow_threads.h)
};

// Traces the main thread of a process. HS_ERROR_GONE and others: it is not traced. pre: it is the tool's child, the
// tool has one thread
struct hs_error *follow_begin(const struct process *process, struct follow *ret) HS_MUST_CHECK;
// From now on, until follow_again, the thread stays traced where this tool freezes the process.
void follow_through_freeze(const struct follow *follow);
// Again, where nobody traces it. Nothing, where it is still traced.
struct hs_error *follow_again(struct follow *follow) HS_MUST_CHECK;
// What has happened since. Never waits; each stop of a thread raises SIGCHLD in the tool. Where the thread ends and
// others may live on, that is looked at again within *again_ms_ret (0 = nothing is to be looked at).
enum follow_event follow_look(struct follow *follow, unsigned *again_ms_ret);
// So too of a child that is not followed: FOLLOW_ENDED or FOLLOW_NONE.
enum follow_event follow_look_untraced(const struct process *process);
// Sees what children it has now.
void follow_look_for_children(struct follow *follow);
void follow_end(struct follow *follow);
// After FOLLOW_EXECUTED, FOLLOW_ENDING.
void follow_go_on(struct follow *follow);

#endif
