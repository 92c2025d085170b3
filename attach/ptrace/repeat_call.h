// SPDX-License-Identifier: Apache-2.0
// Waiting calls that end with EINTR when their thread is merely stopped (signal(7), "Interruption of system calls and
// library functions by stop signals"): the kernel does not repeat them by itself. A freeze would let the program see an
// error that no signal of its own has caused. So such a thread is set back to before the call, and makes it again when
// it is released, or when the tool ends.
//
// If a signal with a handler has come meanwhile, the EINTR is the program's own, and stays. One that comes in the last
// microseconds before the release has its handler run before the repeated call instead of during it: as if it had come
// before the call, which a program that waits without a signal mask must reckon with at any time. A call that takes a
// signal mask (epoll_pwait) is repeated with the signals blocked until it has its mask again; so it misses none.
#ifndef HEAPSNAP_ATTACH_PTRACE_REPEAT_CALL_H
#define HEAPSNAP_ATTACH_PTRACE_REPEAT_CALL_H

#include "attach/ptrace/frozen_process.h"
#include "attach/ptrace/stop_wait.h"
#include "base/error.h"
#include "base/process.h"

#include <stdbool.h>

// Pure: whether `registers` are those of a thread that was stopped in such a call. Then they are set back to before it.
bool repeat_call_prepare(arch_registers *registers);

// Pure: whether it was stopped in such a call, and that has no time at which it ends.
bool repeat_call_is_endless(const arch_registers *registers);

// Of a thread in a stop of the tool's making, whose registers were read: repeats_call says whether it was in such a
// call; then it is set back at once, so that it makes the call again if the tool is killed next. With the mask that it
// has outside of the call: one that takes a mask of its own (epoll_pwait) lets signals in, and would miss one that
// comes before it is made again.
struct hs_error *repeat_call_set_back(struct frozen_thread *thread) HS_MUST_CHECK;

// So too of a thread whose registers were not read, that is let go right afterwards: as repeat_call_settle, too.
// Nothing in any other stop.
void repeat_call_set_back_from(pid_t tid, const struct stop *stop);

// Right before the release of a thread that was set back: gives it its signal mask, and the EINTR if that is its own
// after all.
struct hs_error *repeat_call_settle(const struct process *process, struct frozen_thread *thread) HS_MUST_CHECK;

// Pure: whether /proc/PID/task/TID/status tells of a signal that has a handler, is pending, and is not blocked by
// `mask`.
bool status_has_signal(const char *status, uint64_t mask);

#endif
