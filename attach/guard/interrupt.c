// SPDX-License-Identifier: Apache-2.0
#include "attach/guard/interrupt.h"

#include "attach/guard/interrupt_signal.h"
#include "attach/guard/standstill.h"
#include "base/log.h"
#include "base/test_variable.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pid_t killed_pid;

struct hs_error *interrupt_check(void)
{
	struct hs_error *error = interrupt_signal_check();

	return error ? error : standstill_check();
}

// The number in an environment variable; 0 = never.
static unsigned long number_from_environment(const char *name)
{
	const char *text = hs_test_variable(name);

	return text ? strtoul(text, NULL, 10) : 0;
}

void fault_kills(pid_t pid) { killed_pid = pid; }

static _Noreturn void hang(void)
{
	for (;;)
		pause(); // signals do not end it
}

static void kill_tool(void) { kill(killed_pid ? killed_pid : getpid(), SIGKILL); }

struct hs_error *fault_point(const char *step)
{
	static unsigned long calls, fail_at, kill_at, hang_at;
	static const char *stop_at, *said = "";
	static int stop_signal = SIGSTOP;
	struct hs_error *error;

	if (calls++ == 0) {
		stop_at = hs_test_variable("HEAPSNAP_STOP_AT");
		fail_at = number_from_environment("HEAPSNAP_FAIL_AT");
		kill_at = number_from_environment("HEAPSNAP_KILL_AT");
		hang_at = number_from_environment("HEAPSNAP_HANG_AT");
		if (number_from_environment("HEAPSNAP_STOP_SIGNAL"))
			stop_signal = (int)number_from_environment("HEAPSNAP_STOP_SIGNAL");
	}
	if (strcmp(step, said) != 0) // once of those that come many times in turn
		hs_verbose("step %lu: %s", calls, step);
	said = step;
	if (calls == kill_at)
		kill_tool();
	if (calls == hang_at)
		hang();
	if (stop_at && strcmp(step, stop_at) == 0)
		raise(stop_signal);
	error = interrupt_check();
	if (!error && calls == fail_at)
		error = hs_error_create(HS_ERROR_INTERRUPTED, "made to fail at step %lu (%s)", calls, step);
	return error;
}

void fault_request(void)
{
	static unsigned long calls, kill_at, hang_at, stop_at;

	if (calls++ == 0) {
		kill_at = number_from_environment("HEAPSNAP_KILL_AT_REQUEST");
		hang_at = number_from_environment("HEAPSNAP_HANG_AT_REQUEST");
		stop_at = number_from_environment("HEAPSNAP_STOP_AT_REQUEST");
	}
	if (calls == kill_at)
		kill_tool();
	if (calls == hang_at)
		hang();
	if (calls == stop_at)
		raise(SIGSTOP);
}
