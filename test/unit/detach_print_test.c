// SPDX-License-Identifier: Apache-2.0
// What a detach says and how it ends (cli/detach.c), by what was found out: whatever does not hold is told, also with
// -q, and by the exit status.
#include "attach/session/session.h"
#include "base/process.h"
#include "captured.h"
#include "check.h"

#include "../../cli/detach.c"

static struct detach_report found;

// Stands before the library's.
struct hs_error *session_detach(const struct process *process, unsigned wait_ms, struct detach_report *report)
{
	(void)process;
	(void)wait_ms;
	*report = found;
	return NULL;
}

static enum exit_status detach(bool quiet, bool json)
{
	char own[16];
	const struct options options = { .pid_text = own, .quiet = quiet, .json = json };
	enum exit_status status;

	snprintf(own, sizeof(own), "%d", (int)getpid());
	capture_begin();
	console_init(&options);
	status = command_detach(&options);
	capture_end();
	return status;
}

static void test_verdicts(void)
{
	static const struct {
		bool finished, holds[2];
		size_t foreign;
		const char *complaint; // NULL = none
	} cases[] = {
		{ true, { true, true }, 0, NULL },
		{ true, { false, true }, 0, "does not hold, or could not be checked: first" },
		{ true, { true, false }, 0, "does not hold, or could not be checked: second" },
		{ false, { true, true }, 0, "of its threads are still inside the payload" },
		{ false, { true, true }, 3, "3 of the places that they were in were patched by another program" },
		{ false, { false, false }, 0, "does not hold, or could not be checked: first" },
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (unsigned way = 0; way < 4; way++) {
			const bool quiet = way & 1, json = way & 2;

			found = (struct detach_report){ .finished = cases[i].finished,
							.foreign_hooks = cases[i].foreign,
							.check_count = 2 };
			found.checks[0].text = "first";
			found.checks[1].text = "second";
			for (unsigned k = 0; k < 2; k++)
				found.checks[k].holds = cases[i].holds[k];
			CHECK_EQUAL(detach(quiet, json), cases[i].complaint ? EXIT_REFUSED : EXIT_DONE);
			if (cases[i].complaint)
				CHECK(strstr(captured_errors(), cases[i].complaint) != NULL);
			else
				CHECK(quiet == !*captured_errors());
			CHECK(quiet || strstr(captured_errors(), cases[i].holds[1] ? "yes\n" : "NO\n"));
			if (json)
				CHECK(strstr(captured_output(),
					     cases[i].complaint ? "\"verified\": false" : "\"verified\": true") ||
				      strstr(captured_output(),
					     cases[i].complaint ? "\"verified\":false" : "\"verified\":true"));
			else
				CHECK_STRING(captured_output(), "");
		}
	}
}

int main(void)
{
	test_verdicts();
	return CHECK_RESULT();
}
