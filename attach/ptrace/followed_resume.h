// SPDX-License-Identifier: Apache-2.0
// Lets a thread that is followed (follow.h, follow_threads.h) go on from its stop.
#ifndef HEAPSNAP_ATTACH_PTRACE_FOLLOWED_RESUME_H
#define HEAPSNAP_ATTACH_PTRACE_FOLLOWED_RESUME_H

#include "base/process.h"

#include <sys/types.h>

// `signal`: that is to be delivered; 0 = none. Nothing, where it was killed in its stop.
//
// A signal without a handler ends no call of a thread that nobody traces. For a tracer the thread stops before it, and
// goes on in some calls (poll, nanosleep, futex with a time) by restart_syscall(2), which a seccomp filter of its own
// may not know: it would be killed. Such a call is made anew instead; a time that it waits for begins again. Others
// end with EINTR (repeat_call.h). Those without a time are made anew where the signal is ignored: with a time, signals
// that come often would keep them from ending.
void followed_resume(const struct process *process, pid_t tid, int signal);

#endif
