// SPDX-License-Identifier: Apache-2.0
#define HS_PTRACE_CALL_IMPLEMENTATION
#include "attach/ptrace/ptrace_call.h"

#include "attach/arch/ptrace_registers.h"
#include "attach/guard/interrupt.h"

#include <elf.h>
#include <errno.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

// Newer than the C library's headers (include/uapi/linux/ptrace.h).
#define HS_PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG 0x4211

_Static_assert(HS_PTRACE_OPTIONS == (PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC), "options every thread gets");
_Static_assert(HS_PTRACE_SUSPEND_SECCOMP == PTRACE_O_SUSPEND_SECCOMP, "suspend option");
_Static_assert(HS_PTRACE_TRACE_EXIT == PTRACE_O_TRACEEXIT, "exit option");
_Static_assert(HS_PTRACE_EXIT_KILL == PTRACE_O_EXITKILL, "kill option");
_Static_assert(HS_PTRACE_TRACE_MADE == (PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE),
	       "options of what a thread makes");
_Static_assert(HS_PTRACE_EVENT_FORK == PTRACE_EVENT_FORK && HS_PTRACE_EVENT_VFORK == PTRACE_EVENT_VFORK &&
		       HS_PTRACE_EVENT_CLONE == PTRACE_EVENT_CLONE,
	       "events of what a thread makes");
_Static_assert(HS_PTRACE_EVENT_EXIT == PTRACE_EVENT_EXIT, "exit event");
_Static_assert(HS_PTRACE_EVENT_EXEC == PTRACE_EVENT_EXEC, "exec event");
_Static_assert(HS_PTRACE_EVENT_STOP == PTRACE_EVENT_STOP, "stop event");

static struct hs_error *thread_gone(pid_t tid) { return hs_error_create(HS_ERROR_GONE, "thread %d is gone", (int)tid); }

static struct hs_error *request_error(int error_number, const char *what, pid_t tid)
{
	if (error_number == ESRCH)
		return thread_gone(tid);
	return hs_error_system(error_number, "cannot %s thread %d", what, (int)tid);
}

static struct hs_error *request(enum __ptrace_request kind, const char *what, pid_t tid, uint64_t address,
				uint64_t data)
{
	fault_request();
	return ptrace(kind, tid, (void *)address, (void *)data) >= 0 ? NULL : request_error(errno, what, tid);
}

int ptrace_seize(pid_t tid, unsigned long options)
{
	fault_request();
	return ptrace(PTRACE_SEIZE, tid, NULL, (void *)options) >= 0 ? 0 : errno;
}

struct hs_error *ptrace_seize_error(pid_t tid, int error_number) { return request_error(error_number, "trace", tid); }

struct hs_error *ptrace_interrupt(pid_t tid) { return request(PTRACE_INTERRUPT, "interrupt", tid, 0, 0); }

struct hs_error *ptrace_continue(pid_t tid, int signal)
{
	return request(PTRACE_CONT, "resume", tid, 0, (uint64_t)signal);
}

struct hs_error *ptrace_single_step(pid_t tid) { return request(PTRACE_SINGLESTEP, "step", tid, 0, 0); }

struct hs_error *ptrace_listen(pid_t tid) { return request(PTRACE_LISTEN, "leave in its stop", tid, 0, 0); }

struct hs_error *ptrace_continue_to_syscall(pid_t tid, int signal)
{
	return request(PTRACE_SYSCALL, "resume", tid, 0, (uint64_t)signal);
}

struct hs_error *ptrace_detach(pid_t tid, int signal)
{
	return request(PTRACE_DETACH, "release", tid, 0, (uint64_t)signal);
}

struct hs_error *ptrace_get_registers(pid_t tid, arch_registers *ret)
{
	fault_request();
	return arch_ptrace_get_registers(tid, ret) >= 0 ? NULL : request_error(errno, "read the registers of", tid);
}

struct hs_error *ptrace_set_registers(pid_t tid, const arch_registers *registers)
{
	fault_request();
	return arch_ptrace_set_registers(tid, registers) >= 0 ? NULL
							      : request_error(errno, "set the registers of", tid);
}

struct hs_error *ptrace_get_extended_state(pid_t tid, void *buffer, size_t *size)
{
	struct iovec vector = { buffer, *size };
	struct hs_error *error;

	error = request(PTRACE_GETREGSET, "read the extended state of", tid, ARCH_EXTENDED_STATE, (uint64_t)&vector);
	if (!error)
		*size = vector.iov_len;
	return error;
}

struct hs_error *ptrace_set_extended_state(pid_t tid, const void *buffer, size_t size)
{
	struct iovec vector = { (void *)(uintptr_t)buffer, size };

	return request(PTRACE_SETREGSET, "set the extended state of", tid, ARCH_EXTENDED_STATE, (uint64_t)&vector);
}

struct hs_error *ptrace_get_signal_mask(pid_t tid, uint64_t *ret)
{
	return request(PTRACE_GETSIGMASK, "read the signal mask of", tid, sizeof(*ret), (uint64_t)ret);
}

struct hs_error *ptrace_set_signal_mask(pid_t tid, uint64_t mask)
{
	return request(PTRACE_SETSIGMASK, "set the signal mask of", tid, sizeof(mask), (uint64_t)&mask);
}

struct hs_error *ptrace_poke(pid_t tid, uint64_t address, uint64_t word)
{
	return request(PTRACE_POKEDATA, "write the memory of", tid, address, word);
}

struct hs_error *ptrace_set_options(pid_t tid, unsigned long options)
{
	return request(PTRACE_SETOPTIONS, "set trace options of", tid, 0, options);
}

struct hs_error *ptrace_get_made(pid_t tid, pid_t *ret)
{
	unsigned long made = 0;
	struct hs_error *error = request(PTRACE_GETEVENTMSG, "read what was made by", tid, 0, (uint64_t)&made);

	*ret = (pid_t)made;
	return error;
}

struct hs_error *ptrace_get_ended_child(pid_t tid, pid_t *ret)
{
	siginfo_t info = { 0 };
	struct hs_error *error = request(PTRACE_GETSIGINFO, "read the signal of", tid, 0, (uint64_t)&info);
	const bool has_ended = info.si_signo == SIGCHLD &&
			       (info.si_code == CLD_EXITED || info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED);

	*ret = has_ended ? info.si_pid : 0;
	return error;
}

struct hs_error *ptrace_get_sender(pid_t tid, int *code_ret, pid_t *ret)
{
	siginfo_t info = { 0 };
	struct hs_error *error = request(PTRACE_GETSIGINFO, "read the signal of", tid, 0, (uint64_t)&info);

	const bool is_sent = info.si_code == SI_USER || info.si_code == SI_QUEUE || info.si_code == SI_TKILL;

	*code_ret = info.si_code;
	*ret = is_sent ? info.si_pid : 0;
	return error;
}

struct hs_error *ptrace_has_pending(pid_t tid, int signal, pid_t sender, bool *ret)
{
	enum { AT_ONCE = 16 };
	siginfo_t infos[AT_ONCE] = { 0 };
	struct __ptrace_peeksiginfo_args from = { .flags = PTRACE_PEEKSIGINFO_SHARED, .nr = AT_ONCE };
	long got;

	*ret = false;
	do {
		fault_request();
		got = ptrace(PTRACE_PEEKSIGINFO, tid, &from, infos);
		if (got < 0)
			return request_error(errno, "read the signals of", tid);
		for (long i = 0; i < got; i++)
			*ret |= infos[i].si_signo == signal && infos[i].si_code == SI_USER && infos[i].si_pid == sender;
		from.off += (uint64_t)got;
	} while (got == AT_ONCE && !*ret);
	return NULL;
}

struct hs_error *ptrace_at_syscall_entry(pid_t tid, bool *ret)
{
	struct __ptrace_syscall_info info = { 0 };
	struct hs_error *error;

	error = request(PTRACE_GET_SYSCALL_INFO, "read the system call of", tid, sizeof(info), (uint64_t)&info);
	if (error)
		return error;
	*ret = info.op == PTRACE_SYSCALL_INFO_ENTRY;
	return NULL;
}

bool ptrace_has_shadow_stack(pid_t tid)
{
	fault_request();
	return arch_ptrace_has_shadow_stack(tid);
}

bool ptrace_has_syscall_dispatch(pid_t tid)
{
	// struct ptrace_sud_config: mode (0 = off), selector, offset, len.
	uint64_t config[4] = { 0 };

	fault_request();
	return ptrace((enum __ptrace_request)HS_PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG, tid, (void *)sizeof(config),
		      config) == 0 &&
	       config[0] != 0;
}

struct hs_error *ptrace_get_seccomp_filter(pid_t tid, size_t index, struct sock_filter *program, size_t *count_ret)
{
	long count;

	*count_ret = 0;
	fault_request();
	count = ptrace(PTRACE_SECCOMP_GET_FILTER, tid, (void *)index, program);
	if (count >= 0) {
		*count_ret = (size_t)count;
		return NULL;
	}
	// get_nth_filter in kernel/seccomp.c: EINVAL, the thread is in no filter mode; ENOENT, there are fewer filters
	if (errno == EINVAL || errno == ENOENT)
		return NULL;
	if (errno == ESRCH)
		return thread_gone(tid);
	return hs_error_with_errno(HS_ERROR_REFUSED, errno, "cannot read the seccomp filters of thread %d", (int)tid);
}

struct hs_error *ptrace_get_rseq(pid_t tid, uint64_t *address_ret)
{
	struct __ptrace_rseq_configuration configuration = { 0 };

	*address_ret = 0;
	fault_request();
	if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, tid, (void *)sizeof(configuration), &configuration) < 0) {
		if (errno == ESRCH)
			return thread_gone(tid);
		return NULL; // kernels before 5.13 cannot tell
	}
	*address_ret = configuration.rseq_abi_pointer;
	return NULL;
}
