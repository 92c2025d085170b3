// SPDX-License-Identifier: Apache-2.0
// Processes that a process has started, as far as they are seen: nobody is asked, and nothing is stopped for it. So
// there are at least so many.
#ifndef HEAPSNAP_ATTACH_PROCESS_STARTED_PROCESSES_H
#define HEAPSNAP_ATTACH_PROCESS_STARTED_PROCESSES_H

#include "attach/process/pid_set.h"

#include <stdbool.h>

struct started_processes {
	struct pid_set seen; // those that were its children at some moment
	bool was_any;        // it has waited for one, be it seen or not
};

// One that is or was its child. Each counts once, and a number that stands for another process later counts no more.
void started_processes_note(struct started_processes *started, pid_t pid);
// Those that are its children now, and whether there was any. What cannot be read is no error.
void started_processes_look(struct started_processes *started, const struct process *process);
size_t started_processes_count(const struct started_processes *started);
void started_processes_deinit(struct started_processes *started);

#endif
