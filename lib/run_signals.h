// SPDX-License-Identifier: Apache-2.0
// The signals of a tool that waits for a command: which are the command's, and how they get there once.
//
// What a terminal sends (Ctrl-C, Ctrl-Z, a change of its size, its end) goes to the whole foreground process group, so
// to the command as well; so does what a process of that group sends, as it is mostly meant for the group. Everything
// else was meant for the tool alone, and is handed on; so is what the process sends that has started the tool, which
// ends its job by that (or is the tool's own: attach/guard/tool_guard.h). A signal that one of these sends to the whole
// group cannot be told from it: the command gets it twice.
#ifndef HEAPSNAP_LIB_RUN_SIGNALS_H
#define HEAPSNAP_LIB_RUN_SIGNALS_H

#include "base/process.h"

#include <signal.h>
#include <stdbool.h>

struct run_signals {
	int own;         // asks for a snapshot; 0 = none does
	bool wants_stop; // the terminal has stopped the process group: the tool stops when the command has
	sigset_t before; // the tool's mask
};

// From here to its end signals wait for run_signals_wait. `own`: the one that asks for a snapshot; 0 = none.
void run_signals_begin(int own, struct run_signals *ret);
void run_signals_end(struct run_signals *signals);

// Waits for one, or for `ms`, and hands it on if it is the command's. *is_due_ret is set where it is the tool's own.
// `is_stopped`: the command is stopped by a signal.
void run_signals_wait(struct run_signals *signals, const struct process *command, bool is_stopped, unsigned ms,
		      bool *is_due_ret);

// In a process that writes a snapshot: signals of the terminal are not for it.
void run_signals_of_writer(const struct run_signals *signals);

// Pure: whether a signal of which this is said is to be handed on, by a tool of process group `group`. `is_of_starter`:
// the tool's parent has sent it; `sender_group`: the group of the process that has.
bool run_signal_is_for_command(int code, bool is_of_starter, int sender_group, int group);

#endif
