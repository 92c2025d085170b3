// SPDX-License-Identifier: Apache-2.0
// A process whose children are followed as well: each of its threads is traced, as each may make one. Else as follow.h.
//
// What that costs besides: a thread that is made stops its maker and itself once, and so does a process. Signals of all
// threads go by way of the tool.
#ifndef HEAPSNAP_ATTACH_PTRACE_FOLLOW_THREADS_H
#define HEAPSNAP_ATTACH_PTRACE_FOLLOW_THREADS_H

#include "attach/ptrace/follow.h"
#include "attach/ptrace/frozen_process.h"
#include "base/error.h"
#include "base/process.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct followed_thread {
	pid_t tid;
	bool is_past;              // was let go to its end: it has none of the process's memory any more, or soon
	bool stands;               // is held in a stop
	bool is_group_stop;        // then: in a group-stop (ptrace(2): SIGSTOP, Ctrl-Z)
	struct frozen_thread held; // then: what it goes on with
};

struct follow_threads {
	const struct process *process;
	struct followed_thread *threads; // owned
	size_t count, room;
	pid_t ending;    // stands before its end, the last one; 0 = none does
	bool is_holding; // its threads are held, each from its next stop on
	size_t next;     // then: the index of the thread that is looked at next, besides those that have told of a stop
	bool is_stopped; // in a stop of the whole process (SIGSTOP, Ctrl-Z), from which SIGCONT wakes it
};

// Traces all threads of a process. On failure some may be traced; *ret is the caller's in any case
// (follow_threads_end). HS_ERROR_GONE, HS_ERROR_SYSTEM, HS_ERROR_NO_MEMORY. pre: it is stopped, the tool has one thread
struct hs_error *follow_threads_begin(const struct process *process, struct follow_threads *ret) HS_MUST_CHECK;
// So too those that it has made since its first threads were traced, which may run meanwhile.
struct hs_error *follow_threads_add_others(struct follow_threads *follow) HS_MUST_CHECK;
// Takes over one that FOLLOW_STARTED has told, with one thread, which is traced. HS_ERROR_NO_MEMORY.
struct hs_error *follow_threads_adopt(const struct process *process, struct follow_threads *ret) HS_MUST_CHECK;
// From now on, until follow_threads_again, the threads stay traced where this tool freezes the process. Their stops are
// to be looked at again behind it.
void follow_threads_through_freeze(void);
// Those of which nobody has told meanwhile are followed as well. As follow_threads_begin.
struct hs_error *follow_threads_again(struct follow_threads *follow) HS_MUST_CHECK;
// As follow_look; never FOLLOW_MISSED. *made_ret: FOLLOW_STARTED: the number of the process that it has made, which is
// traced and stands, or will in a moment; its maker goes on.
enum follow_event follow_threads_look(struct follow_threads *follow, pid_t *made_ret);
// Looks at this thread alone, where it is known, in place of at all of them. While they are held it looks at others
// besides: all of them stop at about the same time, and to find any that has stopped (stop_find) the kernel passes by
// all those that stand already.
enum follow_event follow_threads_look_at(struct follow_threads *follow, pid_t tid, pid_t *made_ret);
bool follow_threads_know(const struct follow_threads *follow, pid_t tid);
// Takes a thread of this process over that is traced and stands without a follower: its maker was killed before it had
// told (another thread has ended the process). False: it is none of this process.
bool follow_threads_take(struct follow_threads *follow, pid_t tid);
// After FOLLOW_EXECUTED, FOLLOW_ENDING.
void follow_threads_go_on(struct follow_threads *follow);
// Holds all threads, so that the heap can be read (HEAP_COPY_HELD): asks each to stop, and waits for none. The looks go
// on meanwhile, and tell what else happens; an exec ends it. HS_ERROR_REFUSED: a thread has a seccomp filter, which may
// not know the call by which an interrupted sleep goes on, and kill it; HS_ERROR_GONE. None is asked to stop then.
struct hs_error *follow_threads_hold(struct follow_threads *follow) HS_MUST_CHECK;
// Whether all of them stand, and so no instruction of the program is run until follow_threads_release.
bool follow_threads_stand(const struct follow_threads *follow);
// They go on, also those that have not come to their stop. A waiting call that the stop has ended is made again
// (repeat_call.h).
void follow_threads_release(struct follow_threads *follow);
// Forgets them. They stay traced.
void follow_threads_end(struct follow_threads *follow);

// Lets go of a process that FOLLOW_STARTED has told, and that nobody has taken over.
void follow_threads_let_go(pid_t tid);

#endif
