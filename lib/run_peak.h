// SPDX-License-Identifier: Apache-2.0
// The peak of a command's heap: a process beside the tool looks at it (lib/peak.h) for as long as the command runs, so
// that the tool is free for the command's stops. For run.c.
//
//     tool                                     the watcher
//     begins it when the command is recorded   looks, and looks
//     the command has ended: asks       --->   says how much was live at most, and after how many looks
//     compares with the heap of the end:
//       that is not the peak: "write"   --->   writes its copy, and ends
//       it is: kills it
//     ends by itself (end of file)      --->   ends
#ifndef HEAPSNAP_LIB_RUN_PEAK_H
#define HEAPSNAP_LIB_RUN_PEAK_H

#include "base/process.h"
#include "lib/run.h"
#include "lib/run_signals.h"

#include <stdbool.h>
#include <sys/types.h>

struct run_peak {
	bool is_wanted;
	bool has_begun; // for the program that runs now, or it could not be
	// As the answer says:
	bool writes;
	bool is_beside_end; // the heap of the end is known
	pid_t watcher;      // 0 = none
	int fd;             // to it; valid with a watcher
};

// Where it is wanted, and has not begun: goes on in a child, and is true there, when the child's copy is to be written;
// *ret is the event of that. False in the tool; it says where no process can be started.
bool run_peak_begin(struct run_peak *peak, const struct run_signals *signals, const struct process *command,
		    enum hs_run_missed missed, struct hs_run_event *ret);
// What was seen is gone: the command has executed another program.
void run_peak_drop(struct run_peak *peak);
// In another child of the tool, which does not keep the watcher from seeing the tool's end.
void run_peak_forget(struct run_peak *peak);
// The command has ended. `last`: the heap of its end; NULL = it is not known.
void run_peak_ask(struct run_peak *peak, const struct heap_copy *last, struct hs_run_peak *ret);
// Lets it write what it was asked for, or ends it, and waits for that. It says where nothing was written.
void run_peak_end(struct run_peak *peak);

#endif
