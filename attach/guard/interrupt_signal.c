// SPDX-License-Identifier: Apache-2.0
#include "attach/guard/interrupt_signal.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t interrupting_signal;

static void note_signal(int signal) { interrupting_signal = signal; }

void interrupt_install(void)
{
	const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = note_signal };

	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		struct sigaction old;

		// A tool started by nohup keeps ignoring SIGHUP.
		if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler == SIG_IGN)
			continue;
		sigaction(signals[i], &action, NULL);
	}
}

void interrupt_clear(void) { interrupting_signal = 0; }

int interrupt_signal_take(void)
{
	const int number = interrupting_signal;

	interrupting_signal = 0;
	return number;
}

bool interrupt_signal_came(void) { return interrupting_signal != 0; }

struct hs_error *interrupt_signal_check(void)
{
	const char *name;

	switch (interrupting_signal) {
	case 0:
		return NULL;
	case SIGINT:
		name = "SIGINT";
		break;
	case SIGTERM:
		name = "SIGTERM";
		break;
	default:
		name = "SIGHUP";
	}
	return hs_error_create(HS_ERROR_INTERRUPTED, "interrupted by %s", name);
}
