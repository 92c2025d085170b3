// SPDX-License-Identifier: Apache-2.0
// Waiting for the stops of a traced thread, never without a bound.
//
// A stop is looked at (WNOWAIT), not consumed: the kernel then still holds a signal that the thread stopped for, and
// delivers it by itself when the tool dies before it has passed the signal on (ptrace_stop in kernel/signal.c keeps it
// in exit_code, which a consuming wait clears). Resuming works the same either way.
#ifndef HEAPSNAP_ATTACH_PTRACE_STOP_WAIT_H
#define HEAPSNAP_ATTACH_PTRACE_STOP_WAIT_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum stop_kind {
	STOP_NONE,    // runs
	STOP_EVENT,   // PTRACE_INTERRUPT or a group stop took effect
	STOP_SYSCALL, // entry or exit of a system call
	STOP_SIGNAL,  // about to deliver `signal`; or, with an event, about to end
	STOP_EXEC,    // has become another program
	STOP_EXITED,  // dead; the tool must reap it
	STOP_UNKNOWN, // not this tool's tracee: died and reaped, or took another id in an exec
};

struct stop {
	enum stop_kind kind;
	int signal;
	int event; // HS_PTRACE_EVENT_EXIT, ..._FORK and the like: there is no signal to be passed on; else 0
};

// Group-stop (ptrace(2)): by SIGSTOP and the like, from which SIGCONT wakes the process.
bool stop_is_group_stop(const struct stop *stop);
// Never waits.
struct stop stop_peek(pid_t tid);
// Any traced thread that stands in a stop, or, where *is_end_ret, one or a child that has ended; 0 = there is none. Who
// has ended is in the way of others until somebody waits for it.
pid_t stop_find(bool *is_end_ret);
// Any thread that stands in a stop; a child too that is not traced, and is in the way of others.
pid_t stop_find_behind_ends(void);
// Until the kind is not STOP_NONE or `deadline` has passed (then STOP_NONE). `interruptible`: also ends, with
// STOP_NONE, when a signal asks the tool to end.
struct stop stop_wait(pid_t tid, uint64_t deadline, bool interruptible);
// pre: STOP_EXITED or STOP_EXEC was seen. A dead thread is forgotten by the kernel only then; one after an exec takes
// requests only then (looks_like_a_spurious_pid in kernel/ptrace.c), and is STOP_NONE from there on.
void stop_consume(pid_t tid);

// Kills a child of the tool (`tid`: its first thread) and waits for its end, over the stops on its way there where it
// is traced: without somebody to let it go on it stands before its end, with all that it has open. *status_ret as of
// waitpid(2).
void stop_kill_child(pid_t tid, int *status_ret);

// The end of the tool's own child is told to the tool alone, and only once: where it is consumed, which may happen in
// the middle of a freeze, its status is kept from now on. stop_kept_end: whether it was; *status_ret as of waitpid(2).
void stop_keep_end(pid_t tid);
bool stop_kept_end(pid_t tid, int *status_ret);

#endif
