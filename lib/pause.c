// SPDX-License-Identifier: Apache-2.0
#include "lib/pause.h"

#include "attach/guard/interrupt_signal.h"
#include "base/clock.h"
#include "base/log.h"

#include <poll.h>
#include <signal.h>

enum { STEP_NS = 200000000 }; // where the kernel tells nobody that the process has ended; and for the progress

// Whether the process is seen to end within so long. Signals are held between the question whether one has come and the
// sleep, which lets them in.
static bool ends_within(const struct process *process, uint64_t ns, const sigset_t *let_in)
{
	const struct timespec most = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
	struct pollfd end = { .fd = process->pidfd, .events = POLLIN }; // a negative one is left out

	return !interrupt_signal_came() && ppoll(&end, 1, &most, let_in) > 0;
}

enum hs_pause_end hs_pause(const struct process *process, uint64_t deadline_ns, const char *what, uint64_t began_ns,
			   uint64_t ends_ns)
{
	enum { SECOND = 1000000000 };
	enum hs_pause_end end = HS_PAUSE_OVER;
	sigset_t held, before;
	uint64_t now;

	sigemptyset(&held);
	sigaddset(&held, SIGINT);
	sigaddset(&held, SIGTERM);
	sigaddset(&held, SIGHUP);
	sigprocmask(SIG_BLOCK, &held, &before);
	while (end == HS_PAUSE_OVER && (now = hs_monotonic_ns()) < deadline_ns) {
		const uint64_t left = deadline_ns - now;

		hs_progress(what, (unsigned long)((now - began_ns) / SECOND),
			    (unsigned long)((ends_ns - began_ns) / SECOND));
		if (ends_within(process, left < STEP_NS ? left : STEP_NS, &before) || !process_lives(process))
			end = HS_PAUSE_GONE;
		else if (interrupt_signal_came())
			end = HS_PAUSE_INTERRUPTED;
	}
	if (end == HS_PAUSE_INTERRUPTED)
		interrupt_clear();
	sigprocmask(SIG_SETMASK, &before, NULL);
	return end;
}
