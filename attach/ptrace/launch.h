// SPDX-License-Identifier: Apache-2.0
// A program that the tool starts itself: brought to the moment before any code of its own runs, and held there.
//
// That moment is when the dynamic loader has mapped and relocated the program's libraries, and says so to debuggers
// (struct r_debug, RT_CONSISTENT): constructors run afterwards, from glibc's loader, or from the program's entry in
// musl. Where the loader does not say so, it is the program's entry point: constructors of libraries have run before
// then. Without a loader, it is in the C library's beginning, where the main thread has got its thread pointer; where
// that is not found, at main, or else at the entry point.
//
// What is written for it, into private memory of the process, is code in the loader's function that raises a signal
// (hold_place.h), or else a breakpoint there and at the other place; all is taken out again before anything else is
// done. So one or two pages of code are the process's own copies from then on, the same as their files.
#ifndef HEAPSNAP_ATTACH_PTRACE_LAUNCH_H
#define HEAPSNAP_ATTACH_PTRACE_LAUNCH_H

#include "base/error.h"
#include "base/process.h"

#include <stdbool.h>
#include <sys/types.h>

// Starts a child that executes the command (execvp(3)), with all that this tool was started with
// (base/inherited_state.h). On success the program has been executed, this tool traces it, and nothing of it has run;
// it is killed if the tool ends; and the tool goes on from then on to look for threads that a freeze has left
// (left_threads.h, follow_look). HS_ERROR_REMOTE: it cannot be executed, and error_number says why; HS_ERROR_GONE: it
// was killed meanwhile; HS_ERROR_SYSTEM, HS_ERROR_INTERRUPTED: no child is left. pre: the tool has one thread
struct hs_error *launch_begin(char *const *command, pid_t *pid_ret) HS_MUST_CHECK;

// The same without a tracer: it runs.
struct hs_error *launch_plainly(char *const *command, pid_t *pid_ret) HS_MUST_CHECK;

// What of a program had run before it was held.
enum launch_missed {
	LAUNCH_MISSED_NOTHING,
	LAUNCH_MISSED_CONSTRUCTORS, // those of its libraries may have
	LAUNCH_MISSED_BEGINNING,    // it had begun, for the signal did not reach it: it is not held (launch_passed.h)
};

// From there to the moment, and leaves it stopped by SIGSTOP, without a tracer; or, where its beginning was missed,
// running, without a tracer. HS_ERROR_GONE: it ended on the way (a library is missing), or has begun without
// being held and ends, as the message says; it is a child to be waited for; all others: it stands as it stood, or was
// killed. pre: it is traced by this tool and stands in the stop of an exec
struct hs_error *launch_hold(const struct process *process, enum launch_missed *missed_ret) HS_MUST_CHECK;

// The same of a process that some other one has started and that is followed (follow_threads.h). It stays traced, in
// a stop, also through an attach: nobody sees it stopped, as its parent would see SIGSTOP. And nobody waits for it: its
// loader may itself wait for a process that the tool has to let go on, which reads what it writes, or lets it go on
// after a SIGSTOP.
struct launch_held; // opaque
enum launch_progress {
	LAUNCH_UNDER_WAY,
	LAUNCH_STOPPED,  // that, and in a stop of the whole process (SIGSTOP, Ctrl-Z)
	LAUNCH_EXECUTED, // it stands in the stop of another exec: launch_held_end
	LAUNCH_THERE,    // it stands at the moment, or after it: launch_held_end, and, after an attach, launch_go_on
};
// Besides HS_ERROR_REFUSED_FOR_GOOD, as of follow_attach_check_filters. On failure launch_go_on is to be called. What
// is passed is borrowed. pre: as launch_hold
struct hs_error *launch_held_begin(const struct process *process, struct launch_held **ret) HS_MUST_CHECK;
// Never waits, but for a few instructions, or for threads of a program that has begun. *missed_ret is set with
// LAUNCH_THERE. HS_ERROR_GONE and others: launch_held_end, and launch_go_on. Where the beginning was missed its main
// thread alone stands.
struct hs_error *launch_held_look(struct launch_held *held, enum launch_progress *ret,
				  enum launch_missed *missed_ret) HS_MUST_CHECK;
// Where it is still on its way, what was written is taken out, and it goes on. HS_ERROR_TIMEOUT: it is not;
// HS_ERROR_GONE.
struct hs_error *launch_held_end(struct launch_held *held) HS_MUST_CHECK;
// Out of its stop; nothing, where it runs. True: a signal stops the whole process, and it stays so.
bool launch_go_on(const struct process *process);

// A process beside the tool that looks after one that stands stopped: it makes it go on, or kills it, when the tool
// ends before it says launch_keeper_end.
struct launch_keeper {
	pid_t pid; // 0 = none
	int fd;
};
struct hs_error *launch_keeper_begin(const struct process *process, int signal,
				     struct launch_keeper *ret) HS_MUST_CHECK;
void launch_keeper_end(struct launch_keeper *keeper);

#endif
