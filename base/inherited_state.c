// SPDX-License-Identifier: Apache-2.0
#include "base/inherited_state.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <unistd.h>

enum { SIGNALS = 65, STREAMS = 3 };

// Those that the tool raises (cli/main.c, lib/tool.c).
static const int limits[] = { RLIMIT_STACK, RLIMIT_NOFILE };
enum { LIMITS = sizeof(limits) / sizeof(limits[0]) };

static struct {
	bool is_closed[STREAMS];
	bool is_ignored[SIGNALS];
	bool has_limit[LIMITS];
	struct rlimit limits[LIMITS];
	sigset_t mask;
} state;

void inherited_state_note(void)
{
	for (int fd = 0; fd < STREAMS; fd++)
		state.is_closed[fd] = fcntl(fd, F_GETFD) < 0;
	for (int number = 1; number < SIGNALS; number++) {
		struct sigaction action;

		state.is_ignored[number] = sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
	}
	for (int i = 0; i < LIMITS; i++)
		state.has_limit[i] = getrlimit((__rlimit_resource_t)limits[i], &state.limits[i]) == 0;
	sigprocmask(SIG_BLOCK, NULL, &state.mask);
}

void inherited_state_restore(void)
{
	// Some numbers are the C library's own, or those of signals that cannot be handled: these are as they were.
	for (int number = 1; number < SIGNALS; number++)
		signal(number, state.is_ignored[number] ? SIG_IGN : SIG_DFL);
	for (int i = 0; i < LIMITS; i++)
		if (state.has_limit[i])
			setrlimit((__rlimit_resource_t)limits[i], &state.limits[i]);
	for (int fd = 0; fd < STREAMS; fd++)
		if (state.is_closed[fd])
			close(fd);
	sigprocmask(SIG_SETMASK, &state.mask, NULL);
}
