// SPDX-License-Identifier: Apache-2.0
// Threads that have run their last instruction of the program and are not reaped yet. The kernel may be at one for
// seconds: it closes what only that thread had open, say. A tracer can neither stop nor release it; it can only reap it
// once it is dead. Until that is done, an exec of the program waits for it (de_thread in fs/exec.c), and, for its last
// thread, so does the parent (wait_task_zombie in kernel/exit.c).
#ifndef HEAPSNAP_ATTACH_PTRACE_ENDING_THREADS_H
#define HEAPSNAP_ATTACH_PTRACE_ENDING_THREADS_H

#include "base/process.h"

#include <stdbool.h>
#include <sys/types.h>

// Whether it is one, or gone. Then it is noted, to be reaped. false also where there is no memory for the note: it is
// waited for, then. pre: seized by this process.
bool ending_threads_take(const struct process *process, pid_t tid);

// Whether it was noted, and is one still: an exec may have given its number to another thread.
bool ending_threads_have(const struct process *process, pid_t tid);

// How many are noted.
unsigned ending_threads_count(void);

// Reaps those that are dead now. Never waits.
void ending_threads_reap(void);

// From now on each is reaped as soon as it is dead, whatever the tool does then. Takes SIGCHLD where there are any.
void ending_threads_reap_from_now_on(void);

#endif
