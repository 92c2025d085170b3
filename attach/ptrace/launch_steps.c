// SPDX-License-Identifier: Apache-2.0
#include "attach/ptrace/launch_steps.h"

#include "attach/guard/interrupt.h"
#include "attach/ptrace/init_signal.h"
#include "attach/ptrace/ptrace_call.h"
#include "base/clock.h"

// The dynamic loader may read large libraries from a slow disk before the moment has come.
static const uint64_t SLICE = UINT64_C(1000000000);

struct hs_error *launch_next_stop(pid_t tid, struct stop *ret)
{
	do {
		struct hs_error *error = interrupt_check();

		if (error)
			return error;
		*ret = stop_wait(tid, hs_monotonic_ns() + SLICE, true);
	} while (ret->kind == STOP_NONE);
	return NULL;
}

struct hs_error *launch_ended(pid_t tid)
{
	return hs_error_create(HS_ERROR_GONE, "process %d has ended before it began", (int)tid);
}

struct hs_error *launch_pass(pid_t tid, const struct stop *stop)
{
	if (stop->kind == STOP_EXITED || stop->kind == STOP_UNKNOWN)
		return launch_ended(tid);
	return ptrace_continue(tid,
			       init_signal_pass(tid, stop->kind == STOP_SIGNAL && !stop->event ? stop->signal : 0));
}

struct hs_error *launch_stop_in_place(pid_t tid, const struct stop *stop, struct stop *ret)
{
	*ret = *stop;
	for (;;) {
		struct hs_error *error = ptrace_interrupt(tid); // any other stop takes the interrupt away

		if (!error)
			error = launch_pass(tid, ret);
		if (!error)
			error = launch_next_stop(tid, ret);
		if (error || ret->kind == STOP_EVENT)
			return error;
	}
}
