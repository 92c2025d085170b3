// SPDX-License-Identifier: Apache-2.0
// What a thread's seccomp filters would say to the calls that it makes for the tool.
//
// While the tool lives they are suspended (PTRACE_O_SUSPEND_SECCOMP). When the tool is killed they are in force again:
// what its thread does next on its own (return to its work through rt_sigreturn, a call that was just begun,
// restart_syscall for a sleep that the stop has interrupted) is judged by them.
#ifndef HEAPSNAP_ATTACH_PTRACE_SECCOMP_FILTER_H
#define HEAPSNAP_ATTACH_PTRACE_SECCOMP_FILTER_H

#include "base/error.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// Pure: the action of one filter (include/uapi/linux/seccomp.h, with its data). A program that the kernel would not
// take kills.
uint32_t seccomp_filter_run(const struct sock_filter *program, size_t count, const struct seccomp_data *data);

// Pure: of two actions the one that counts: kernel/seccomp.c, seccomp_run_filters.
uint32_t seccomp_stricter(uint32_t left, uint32_t right);

// Pure: whether the action may end the process or ask somebody else. An error number or a permission does not.
bool seccomp_is_deadly(uint32_t action);

// All filters of one thread.
struct seccomp_filters {
	struct {
		struct sock_filter *program; // owned
		size_t count;
	} * filters; // owned
	size_t count;
};

// pre: the thread is in a stop. HS_ERROR_REFUSED when the kernel does not let the tool read them (needs CAP_SYS_ADMIN).
struct hs_error *seccomp_filters_read(pid_t tid, struct seccomp_filters *ret) HS_MUST_CHECK;
void seccomp_filters_deinit(struct seccomp_filters *filters);

// Whether call `number` would be deadly. Addresses among the arguments are not known yet and given as 0.
bool seccomp_filters_kill(const struct seccomp_filters *filters, long number, const uint64_t arguments[6]);
// Reads them: whether restart_syscall(2) would be, by which an interrupted sleep goes on. Errors and pre: as
// seccomp_filters_read.
struct hs_error *seccomp_restart_kills(pid_t tid, bool *ret) HS_MUST_CHECK;

enum seccomp_effect {
	SECCOMP_EFFECT_NONE,         // no filter, or one that none of our calls is deadly for
	SECCOMP_EFFECT_KILLS_CALL,   // some of our calls would be
	SECCOMP_EFFECT_KILLS_RETURN, // even the return from a signal handler
};

// What filters would do to the thread that makes calls for the tool, once the tool is dead.
enum seccomp_effect seccomp_filters_effect(const struct seccomp_filters *filters);

#endif
