// SPDX-License-Identifier: Apache-2.0
// Signals to the first process of a PID namespace, of a container say. From within it gets none that it has no handler
// for (sig_task_ignored in kernel/signal.c); but of a thread that is traced the kernel ignores nothing when a signal is
// sent, and then delivers SIGSTOP (get_signal). So a tracer has to keep that from it.
#ifndef HEAPSNAP_ATTACH_PTRACE_INIT_SIGNAL_H
#define HEAPSNAP_ATTACH_PTRACE_INIT_SIGNAL_H

#include <stdbool.h>
#include <sys/types.h>

// Whether nobody would get this signal without a tracer. `status`: the thread's. pre: it stands in the signal's stop
bool init_signal_is_kept(pid_t tid, const char *status, int signal);

// What a thread that stands in the stop of this signal goes on with: it, or 0. 0 stays 0.
int init_signal_pass(pid_t tid, int signal);

#endif
