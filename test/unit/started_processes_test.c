// SPDX-License-Identifier: Apache-2.0
// What is seen of the processes that this one starts (attach/process/started_processes.h).
#include "attach/process/started_processes.h"
#include "check.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t start(int go)
{
	const pid_t child = fork();
	char byte;

	if (child == 0)
		_exit(read(go, &byte, 1) != 0); // until the other end is closed
	return child;
}

static void test_noted(void)
{
	static const pid_t pids[] = { 7, 3, 7, 5, 3, 3 };
	struct started_processes started = { 0 };

	CHECK_EQUAL(started_processes_count(&started), 0);
	for (size_t i = 0; i < sizeof(pids) / sizeof(pids[0]); i++)
		started_processes_note(&started, pids[i]);
	CHECK_EQUAL(started_processes_count(&started), 3);
	for (pid_t pid = 1; pid <= 100010; pid++)
		started_processes_note(&started, pid);
	CHECK_EQUAL(started_processes_count(&started), 100000); // no more, whatever comes
	started_processes_deinit(&started);
	CHECK_EQUAL(started_processes_count(&started), 0);
}

// One that lives, another one; then none, but one was waited for.
static void test_seen(void)
{
	struct started_processes started = { 0 }, later = { 0 };
	struct process self;
	struct hs_error *error = process_open(getpid(), &self);
	pid_t first, second;
	int ends[2];

	CHECK(!error && pipe(ends) == 0);
	started_processes_look(&started, &self);
	CHECK_EQUAL(started_processes_count(&started), 0);
	first = start(ends[0]);
	second = start(ends[0]);
	CHECK(first > 0 && second > 0);
	started_processes_look(&started, &self);
	started_processes_look(&started, &self);
	CHECK_EQUAL(started_processes_count(&started), 2);
	kill(first, SIGKILL);
	kill(second, SIGKILL);
	CHECK(waitpid(first, NULL, 0) == first && waitpid(second, NULL, 0) == second);
	started_processes_look(&started, &self);
	CHECK_EQUAL(started_processes_count(&started), 2);
	started_processes_look(&later, &self); // that has seen none
	CHECK_EQUAL(started_processes_count(&later), 1);
	started_processes_deinit(&started);
	started_processes_deinit(&later);
	process_close(&self);
}

int main(void)
{
	test_noted();
	test_seen();
	return CHECK_RESULT();
}
