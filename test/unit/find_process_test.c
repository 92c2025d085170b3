// SPDX-License-Identifier: Apache-2.0
#include "lib/find_process.h"

#include "check.h"

#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static void test_numbers(void)
{
	static const char *const bad[] = { "",   "0",  "-1",   "+1",         " 1",
					   "1 ", "1x", "0x10", "2147483648", "99999999999999999999" };
	struct process process;
	struct hs_error *error;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		error = hs_find_process(bad[i], &process);
		CHECK(error && error->code == HS_ERROR_NOT_FOUND);
		hs_error_destroy(error);
		process_close(&process);
	}
	CHECK(hs_pid_is_number("1") && hs_pid_is_number("2147483647") && hs_pid_is_number("007"));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(!hs_pid_is_number(bad[i]));
	error = hs_find_process("2147483647", &process); // there is none: what is asked of it says so
	CHECK(!error);
	CHECK_EQUAL(process.pid, 2147483647);
	CHECK(!process_is_there(&process));
	process_close(&process);
}

// The message has the numbers of those that have the name.
static void test_name(void)
{
	char name[32], none[32], expected[160]; // no other run of this test has these names
	struct process process;
	struct hs_error *error;

	snprintf(name, sizeof(name), "hs-find%d", (int)getpid());
	snprintf(none, sizeof(none), "hs-none%d", (int)getpid());
	prctl(PR_SET_NAME, name);
	error = hs_find_process(name, &process);
	snprintf(expected, sizeof(expected),
		 "no process with PID '%s'; running processes of that name: %d. Use --name '%s'", name, (int)getpid(),
		 name);
	CHECK_STRING(error ? error->message : NULL, expected);
	hs_error_destroy(error);
	process_close(&process);
	error = hs_find_process(none, &process);
	CHECK(error && strstr(error->message, "a PID is a positive decimal number"));
	hs_error_destroy(error);
	process_close(&process);
}

int main(void)
{
	test_numbers();
	test_name();
	return CHECK_RESULT();
}
