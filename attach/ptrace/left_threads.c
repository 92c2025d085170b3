// SPDX-License-Identifier: Apache-2.0
#include "attach/ptrace/left_threads.h"

#include "attach/ptrace/init_signal.h"
#include "attach/ptrace/ptrace_call.h"
#include "attach/ptrace/repeat_call.h"
#include "attach/ptrace/stop_wait.h"
#include "base/array.h"

static struct {
	bool are_awaited;
	pid_t *tids;
	size_t count, room;
} left;

void left_threads_are_awaited(void) { left.are_awaited = true; }

bool left_threads_add(const struct frozen_thread *threads, size_t count)
{
	struct hs_error *error;

	if (!left.are_awaited)
		return false;
	error = ARRAY_RESERVE(left.tids, left.count + count, &left.room);
	if (error) {
		hs_error_destroy(error);
		return false;
	}
	for (size_t i = 0; i < count; i++)
		left.tids[left.count++] = threads[i].tid;
	return true;
}

// True: it is no tracee any more.
static bool let_go(pid_t tid)
{
	const struct stop stop = stop_peek(tid);

	if (stop.kind == STOP_NONE)
		return false;
	if (stop.kind == STOP_EXITED || stop.kind == STOP_EXEC)
		stop_consume(tid);
	repeat_call_set_back_from(tid, &stop);
	if (stop.kind != STOP_EXITED && stop.kind != STOP_UNKNOWN)
		hs_error_destroy(ptrace_detach(
			tid, init_signal_pass(tid, stop.kind == STOP_SIGNAL && !stop.event ? stop.signal : 0)));
	return true;
}

void left_threads_look(void)
{
	size_t kept = 0;

	for (size_t i = 0; i < left.count; i++)
		if (!let_go(left.tids[i]))
			left.tids[kept++] = left.tids[i];
	left.count = kept;
}
