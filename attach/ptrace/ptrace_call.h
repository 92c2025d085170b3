// SPDX-License-Identifier: Apache-2.0
// The only door to ptrace(2): every request is a typed function, and the name `ptrace` is poisoned after this file.
// Peek requests are not offered: memory is read through attach/process/memory.h, whose errors are unambiguous.
#ifndef HEAPSNAP_ATTACH_PTRACE_PTRACE_CALL_H
#define HEAPSNAP_ATTACH_PTRACE_PTRACE_CALL_H

#include "attach/arch/registers.h"
#include "base/error.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// The options that every seized thread gets. TRACESYSGOOD: a system call stop is told from SIGTRAP surely, and a tool
// that dies while the thread is in one leaves no SIGTRAP behind (the kernel sends the stop's code, and 0x85 is no
// signal: ptrace_report_syscall in include/linux/ptrace.h). TRACEEXEC: an exec is seen as such.
#define HS_PTRACE_OPTIONS (0x1ul | 0x10ul)
// Additionally, needs CAP_SYS_ADMIN: the thread's seccomp filters are suspended as long as it is traced
// (PTRACE_O_SUSPEND_SECCOMP).
#define HS_PTRACE_SUSPEND_SECCOMP (1ul << 21)
// Of a thread that is followed (follow.h): stops before it gives up its memory as well.
#define HS_PTRACE_TRACE_EXIT (0x40ul)
// It is killed when the tool ends.
#define HS_PTRACE_EXIT_KILL (1ul << 20)
// Of a process whose children are followed (follow_threads.h): what its thread makes, threads and processes, is traced
// with the same options from its first instruction on, and the thread stops when it has made it.
#define HS_PTRACE_TRACE_MADE (0x2ul | 0x4ul | 0x8ul)
// Bits 8 and up of the stop codes that waitid reports.
#define HS_PTRACE_EVENT_FORK  1
#define HS_PTRACE_EVENT_VFORK 2
#define HS_PTRACE_EVENT_CLONE 3
#define HS_PTRACE_EVENT_EXEC  4
#define HS_PTRACE_EVENT_EXIT  6
#define HS_PTRACE_EVENT_STOP  128

// 0 or an errno: whoever has to may leave it by a jump (seize_guard.h), for it takes no memory and no lock.
int ptrace_seize(pid_t tid, unsigned long options);
struct hs_error *ptrace_seize_error(pid_t tid, int error_number) HS_MUST_CHECK;

// All: HS_ERROR_GONE when the thread is no more (ESRCH), else HS_ERROR_SYSTEM.
struct hs_error *ptrace_interrupt(pid_t tid) HS_MUST_CHECK;
// Resumes; `signal` 0 = none.
struct hs_error *ptrace_continue(pid_t tid, int signal) HS_MUST_CHECK;
// One instruction; the stop after it is one for SIGTRAP.
struct hs_error *ptrace_single_step(pid_t tid) HS_MUST_CHECK;
// pre: in a group stop. It stays in it, and stops again for the tracer when that ends.
struct hs_error *ptrace_listen(pid_t tid) HS_MUST_CHECK;
struct hs_error *ptrace_continue_to_syscall(pid_t tid, int signal) HS_MUST_CHECK;
struct hs_error *ptrace_detach(pid_t tid, int signal) HS_MUST_CHECK;
struct hs_error *ptrace_get_registers(pid_t tid, arch_registers *ret) HS_MUST_CHECK;
struct hs_error *ptrace_set_registers(pid_t tid, const arch_registers *registers) HS_MUST_CHECK;
// ARCH_EXTENDED_STATE, as the kernel lays it for ptrace. *size_ret: in, room; out, bytes filled.
struct hs_error *ptrace_get_extended_state(pid_t tid, void *buffer, size_t *size) HS_MUST_CHECK;
struct hs_error *ptrace_set_extended_state(pid_t tid, const void *buffer, size_t size) HS_MUST_CHECK;
struct hs_error *ptrace_get_signal_mask(pid_t tid, uint64_t *ret) HS_MUST_CHECK;
struct hs_error *ptrace_set_signal_mask(pid_t tid, uint64_t mask) HS_MUST_CHECK;
// One aligned or unaligned word, also into read-only pages (ptrace forces the write).
struct hs_error *ptrace_poke(pid_t tid, uint64_t address, uint64_t word) HS_MUST_CHECK;
struct hs_error *ptrace_set_options(pid_t tid, unsigned long options) HS_MUST_CHECK;
// pre: in the stop of HS_PTRACE_EVENT_FORK, _VFORK or _CLONE. The number of what it has made.
struct hs_error *ptrace_get_made(pid_t tid, pid_t *ret) HS_MUST_CHECK;
// pre: in the stop of a signal. The process whose end the signal tells (SIGCHLD); 0 = it tells of none.
struct hs_error *ptrace_get_ended_child(pid_t tid, pid_t *ret) HS_MUST_CHECK;
// pre: in the stop of a signal. The process that has sent it, as the thread's own PID namespace numbers it; 0 = none
// there has, or the kernel. *code_ret: how; SI_USER = by kill(2).
struct hs_error *ptrace_get_sender(pid_t tid, int *code_ret, pid_t *ret) HS_MUST_CHECK;
// pre: stopped. Whether a signal that `sender` (as above) has sent by kill(2) is pending for the thread's process.
struct hs_error *ptrace_has_pending(pid_t tid, int signal, pid_t sender, bool *ret) HS_MUST_CHECK;
// pre: stopped at a system call. Whether at its entry (true) or exit.
struct hs_error *ptrace_at_syscall_entry(pid_t tid, bool *ret) HS_MUST_CHECK;
// Whether the thread has a user shadow stack in use: a false return address would kill it there.
bool ptrace_has_shadow_stack(pid_t tid);
// Whether the thread's system calls are turned into SIGSYS (PR_SET_SYSCALL_USER_DISPATCH).
bool ptrace_has_syscall_dispatch(pid_t tid);
// The seccomp filter number `index` of the thread, the newest is 0. *count_ret: its instructions, 0 = there is none of
// that number. `program` NULL: only counts. Needs CAP_SYS_ADMIN and a tool without filters.
struct sock_filter;
struct hs_error *ptrace_get_seccomp_filter(pid_t tid, size_t index, struct sock_filter *program,
					   size_t *count_ret) HS_MUST_CHECK;
// The registered restartable sequence area. *address_ret = 0 when the thread has none or the kernel cannot tell.
struct hs_error *ptrace_get_rseq(pid_t tid, uint64_t *address_ret) HS_MUST_CHECK;

#ifndef HS_PTRACE_CALL_IMPLEMENTATION
#pragma GCC poison ptrace
#endif

#endif
