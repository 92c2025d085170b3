// SPDX-License-Identifier: Apache-2.0
#include "attach/ptrace/followed_resume.h"

#include "attach/arch/syscall.h"
#include "attach/ptrace/ptrace_call.h"
#include "attach/ptrace/seccomp_filter.h"
#include "base/cleanup.h"
#include "base/proc_status.h"

// A filter that cannot be read (without CAP_SYS_ADMIN) may be one that does.
static bool filter_may_kill(pid_t tid)
{
	bool kills = true;
	struct hs_error *error = seccomp_restart_kills(tid, &kills);

	hs_error_destroy(error);
	return kills;
}

// Where the signal has a handler, the kernel ends the call with EINTR.
static bool restart_may_kill(const struct process *process, pid_t tid, int signal)
{
	HS_CLEANUP_FREE char *status = NULL;
	struct hs_error *error = process_read_task_file(process, tid, "status", &status, NULL);
	const bool is_known = !error;

	hs_error_destroy(error);
	return is_known && proc_status_number(status, "Seccomp:", 10, 0) != 0 &&
	       !(proc_status_number(status, "SigCgt:", 16, 0) >> (signal - 1) & 1) && filter_may_kill(tid);
}

static struct hs_error *keep_from_restart(const struct process *process, pid_t tid, int signal)
{
	arch_registers registers;
	struct hs_error *error = ptrace_get_registers(tid, &registers);

	if (error || arch_call_state(&registers) != ARCH_RESTART_BLOCK || !restart_may_kill(process, tid, signal))
		return error;
	arch_repeat_syscall(&registers);
	return ptrace_set_registers(tid, &registers);
}

void followed_resume(const struct process *process, pid_t tid, int signal)
{
	struct hs_error *error = signal ? keep_from_restart(process, tid, signal) : NULL;

	hs_error_destroy(error); // killed in its stop
	error = ptrace_continue(tid, signal);
	hs_error_destroy(error);
}
