// SPDX-License-Identifier: Apache-2.0
#include "attach/ptrace/init_signal.h"

#include "attach/ptrace/ptrace_call.h"
#include "base/cleanup.h"
#include "base/proc_status.h"
#include "base/process.h"

#include <signal.h>

// A sender from outside has no number within.
bool init_signal_is_kept(pid_t tid, const char *status, int signal)
{
	pid_t sender = 0;
	int code;
	struct hs_error *error;

	if (proc_status_innermost_process(status) != 1 || proc_status_has_signal(status, "SigCgt:", signal))
		return false;
	error = ptrace_get_sender(tid, &code, &sender);
	hs_error_destroy(error); // killed in its stop
	return sender != 0;
}

int init_signal_pass(pid_t tid, int signal)
{
	HS_CLEANUP_PROCESS struct process process = PROCESS_CLOSED; // /proc/TID is there for any thread
	HS_CLEANUP_FREE char *status = NULL;
	struct hs_error *error;

	if (signal != SIGSTOP) // of all others the kernel sees to it itself
		return signal;
	error = process_glance(tid, &process);
	if (!error)
		error = process_read_file(&process, "status", &status, NULL);
	hs_error_destroy(error); // it is gone
	return status && init_signal_is_kept(tid, status, signal) ? 0 : signal;
}
