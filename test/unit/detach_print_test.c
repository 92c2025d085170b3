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

// By what a check has found.
static const char *const lines[] = {
	[DETACH_DOES_NOT_HOLD] = "NO\n",
	[DETACH_HOLDS] = "yes\n",
	[DETACH_NOT_COMPARABLE] = "not comparable: they changed meanwhile\n",
};
static const char *const values[] = {
	[DETACH_DOES_NOT_HOLD] = "false",
	[DETACH_HOLDS] = "true",
	[DETACH_NOT_COMPARABLE] = "null",
};

static void test_verdicts(void)
{
	static const struct {
		bool finished;
		enum detach_answer answers[2];
		size_t foreign;
		const char *complaint; // NULL = none
	} cases[] = {
		{ true, { DETACH_HOLDS, DETACH_HOLDS }, 0, NULL },
		{ true, { DETACH_HOLDS, DETACH_NOT_COMPARABLE }, 0, NULL },
		{ true, { DETACH_DOES_NOT_HOLD, DETACH_HOLDS }, 0, "does not hold, or could not be checked: first" },
		{ true, { DETACH_HOLDS, DETACH_DOES_NOT_HOLD }, 0, "does not hold, or could not be checked: second" },
		{ false, { DETACH_HOLDS, DETACH_HOLDS }, 0, "of its threads are still inside the payload" },
		{ false,
		  { DETACH_HOLDS, DETACH_HOLDS },
		  3,
		  "3 of the places that they were in were patched by another program" },
		{ false,
		  { DETACH_DOES_NOT_HOLD, DETACH_DOES_NOT_HOLD },
		  0,
		  "does not hold, or could not be checked: first" },
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (unsigned way = 0; way < 4; way++) {
			const bool quiet = way & 1, json = way & 2;
			char item[64];

			found = (struct detach_report){ .finished = cases[i].finished,
							.foreign_hooks = cases[i].foreign,
							.check_count = 2 };
			found.checks[0].text = "first";
			found.checks[1].text = "second";
			for (unsigned k = 0; k < 2; k++)
				found.checks[k].answer = cases[i].answers[k];
			CHECK_EQUAL(detach(quiet, json), cases[i].complaint ? EXIT_REFUSED : EXIT_DONE);
			if (cases[i].complaint)
				CHECK(strstr(captured_errors(), cases[i].complaint) != NULL);
			else
				CHECK_STRING(captured_errors(), "");
			CHECK(quiet || json || strstr(captured_output(), lines[cases[i].answers[1]]));
			if (json) {
				snprintf(item, sizeof(item), "{\"text\":\"second\",\"holds\":%s}",
					 values[cases[i].answers[1]]);
				CHECK(strstr(captured_output(), item));
				CHECK(strstr(captured_output(),
					     cases[i].complaint ? "\"verified\": false" : "\"verified\": true") ||
				      strstr(captured_output(),
					     cases[i].complaint ? "\"verified\":false" : "\"verified\":true"));
			} else if (quiet) {
				CHECK_STRING(captured_output(), "");
			}
		}
	}
}

int main(void)
{
	test_verdicts();
	return CHECK_RESULT();
}
