// SPDX-License-Identifier: Apache-2.0
#include "attach/ptrace/repeat_call.h"

#include "attach/arch/syscall.h"
#include "attach/ptrace/ptrace_call.h"
#include "base/cleanup.h"
#include "base/proc_status.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>

// Those that have done nothing when they return EINTR. Those of sockets do so where the socket has a timeout
// (sock_intr_errno in include/net/sock.h). A finite timeout begins anew.
static bool may_be_repeated(long call)
{
	switch (call) {
#ifdef SYS_epoll_wait
	case SYS_epoll_wait:
#endif
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2:
	case SYS_rt_sigtimedwait:
	case SYS_semop:
	case SYS_semtimedop:
	case SYS_io_getevents:
	case SYS_io_pgetevents:
	case SYS_io_uring_enter: // nothing was submitted, or it would say how much
	case SYS_read:
	case SYS_readv:
	case SYS_write:
	case SYS_writev:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_accept:
	case SYS_accept4:
	case SYS_connect:
		return true;
	default:
		return false;
	}
}

bool repeat_call_prepare(arch_registers *registers)
{
	if (!may_be_repeated(arch_call_with_result(registers, -EINTR)))
		return false;
	arch_repeat_syscall(registers);
	return true;
}

// Those of sockets have one: without a time the kernel repeats them by itself.
bool repeat_call_is_endless(const arch_registers *registers)
{
	switch (arch_call_with_result(registers, -EINTR)) {
#ifdef SYS_epoll_wait
	case SYS_epoll_wait:
#endif
	case SYS_epoll_pwait:
		return (int32_t)arch_call_argument(registers, 3) < 0;
	case SYS_epoll_pwait2:
	case SYS_semtimedop:
		return arch_call_argument(registers, 3) == 0;
	case SYS_rt_sigtimedwait:
		return arch_call_argument(registers, 2) == 0;
	case SYS_semop:
		return true;
	case SYS_io_getevents:
	case SYS_io_pgetevents:
		return arch_call_argument(registers, 4) == 0;
	case SYS_io_uring_enter:
		return !(arch_call_argument(registers, 3) & IORING_ENTER_EXT_ARG);
	default:
		return false;
	}
}

struct hs_error *repeat_call_set_back(struct frozen_thread *thread)
{
	struct hs_error *error;

	thread->repeats_call = repeat_call_prepare(&thread->registers);
	if (!thread->repeats_call)
		return NULL;
	error = ptrace_get_signal_mask(thread->tid, &thread->signal_mask);
	if (!error)
		error = ptrace_set_signal_mask(thread->tid, thread->signal_mask);
	return error ? error : ptrace_set_registers(thread->tid, &thread->registers);
}

bool status_has_signal(const char *status, uint64_t mask)
{
	uint64_t pending = proc_status_number(status, "SigPnd:", 16, 0) | proc_status_number(status, "ShdPnd:", 16, 0);

	return (pending & ~mask & proc_status_number(status, "SigCgt:", 16, 0)) != 0;
}

struct hs_error *repeat_call_settle(const struct process *process, struct frozen_thread *thread)
{
	HS_CLEANUP_FREE char *status = NULL;
	struct hs_error *error = ptrace_set_signal_mask(thread->tid, thread->signal_mask);

	if (error)
		return error;
	error = process_read_task_file(process, thread->tid, "status", &status, NULL);
	if (!error && status_has_signal(status, thread->signal_mask))
		arch_end_call(&thread->registers, -EINTR);
	thread->registers_changed = true;
	return error;
}

static struct hs_error *settle_at_once(struct frozen_thread *thread)
{
	HS_CLEANUP_PROCESS struct process process = PROCESS_CLOSED; // /proc/TID is there for any thread
	struct hs_error *error = process_glance(thread->tid, &process);

	if (!error)
		error = repeat_call_settle(&process, thread);
	return error ? error : ptrace_set_registers(thread->tid, &thread->registers);
}

void repeat_call_set_back_from(pid_t tid, const struct stop *stop)
{
	struct frozen_thread thread = { .tid = tid };
	struct hs_error *error;

	if (stop->kind != STOP_EVENT || stop->signal != SIGTRAP)
		return;
	error = ptrace_get_registers(tid, &thread.registers);
	if (!error)
		error = repeat_call_set_back(&thread);
	if (!error && thread.repeats_call)
		error = settle_at_once(&thread);
	hs_error_destroy(error); // killed in its stop
}
