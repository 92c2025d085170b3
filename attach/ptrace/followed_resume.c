// SPDX-License-Identifier: Apache-2.0
#include "attach/ptrace/followed_resume.h"

#include "attach/arch/syscall.h"
#include "attach/ptrace/init_signal.h"
#include "attach/ptrace/ptrace_call.h"
#include "attach/ptrace/repeat_call.h"
#include "attach/ptrace/seccomp_filter.h"
#include "base/cleanup.h"
#include "base/proc_status.h"

#include <signal.h>

// A filter that cannot be read (without CAP_SYS_ADMIN) may be one that does.
static bool filter_may_kill(pid_t tid)
{
	bool kills = true;
	struct hs_error *error = seccomp_restart_kills(tid, &kills);

	hs_error_destroy(error);
	return kills;
}

// By itself or by default (SIG_KERNEL_IGNORE_MASK in include/linux/signal.h).
static bool is_ignored(pid_t tid, const char *status, int signal)
{
	const bool is_by_default = signal == SIGCHLD || signal == SIGCONT || signal == SIGURG || signal == SIGWINCH;

	return proc_status_has_signal(status, "SigIgn:", signal) ||
	       (is_by_default && !proc_status_has_signal(status, "SigCgt:", signal)) ||
	       init_signal_is_kept(tid, status, signal);
}

// Where the signal has a handler, the kernel ends the call with EINTR.
static struct hs_error *keep_from_restart(pid_t tid, const char *status, int signal, arch_registers *registers)
{
	if (proc_status_number(status, "Seccomp:", 10, 0) == 0 || proc_status_has_signal(status, "SigCgt:", signal) ||
	    !filter_may_kill(tid))
		return NULL;
	arch_repeat_syscall(registers);
	return ptrace_set_registers(tid, registers);
}

// The signal is gone then: in its call the thread may not block it, and would get it again. Another one with a handler
// that waits behind it ends the call, and the EINTR is the program's own.
static struct hs_error *keep_waiting(pid_t tid, const char *status, const arch_registers *registers, int *signal)
{
	struct frozen_thread thread = { .tid = tid, .registers = *registers };
	uint64_t mask;
	struct hs_error *error;

	if (!is_ignored(tid, status, *signal))
		return NULL;
	error = ptrace_get_signal_mask(tid, &mask);
	if (error || status_has_signal(status, mask))
		return error;
	error = repeat_call_set_back(&thread);
	if (!error)
		*signal = 0;
	return error;
}

// What the stop has done to the call that it has interrupted is undone, as far as that can be.
static struct hs_error *mend_call(const struct process *process, pid_t tid, int *signal)
{
	HS_CLEANUP_FREE char *status = NULL;
	arch_registers registers;
	struct hs_error *error = ptrace_get_registers(tid, &registers);
	const bool is_restarted = !error && arch_call_state(&registers) == ARCH_RESTART_BLOCK;

	if (error || (!is_restarted && !repeat_call_is_endless(&registers)))
		return error;
	error = process_read_task_file(process, tid, "status", &status, NULL);
	if (error)
		return error;
	return is_restarted ? keep_from_restart(tid, status, *signal, &registers)
			    : keep_waiting(tid, status, &registers, signal);
}

void followed_resume(const struct process *process, pid_t tid, int signal)
{
	struct hs_error *error = signal ? mend_call(process, tid, &signal) : NULL;

	hs_error_destroy(error); // killed in its stop
	error = ptrace_continue(tid, init_signal_pass(tid, signal));
	hs_error_destroy(error);
}
