// SPDX-License-Identifier: Apache-2.0
// Threads that were asked to stop for a freeze, and slept without an ear for signals (the parent of a vfork, a read
// from a file server that does not answer): they stop when they wake, as long as they are traced. The kernel lets go of
// them when the tool ends, which most commands do at once. One that goes on (run) has to do it itself.
#ifndef HEAPSNAP_ATTACH_PTRACE_LEFT_THREADS_H
#define HEAPSNAP_ATTACH_PTRACE_LEFT_THREADS_H

#include "attach/ptrace/frozen_process.h"

#include <stdbool.h>
#include <stddef.h>

// From now on this tool looks for them (left_threads_look) whenever a child or tracee of it has told something.
void left_threads_are_awaited(void);
// False: nobody looks for them, or there is no memory. What is passed is copied.
bool left_threads_add(const struct frozen_thread *threads, size_t count);
// Lets go of those that have stopped. Never waits.
void left_threads_look(void);

#endif
