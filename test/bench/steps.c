// SPDX-License-Identifier: Apache-2.0
// Counts the instructions between the breakpoints of a program, one step at a time: they do not depend on what else the
// machine does. usage: steps PID INTERVALS. Prints the instructions of each interval from one int3 to the next, one
// number a line. "ready" first: then the program may be told to run into its breakpoints. A repeated string instruction
// counts once for each repetition; the kernel's do not count.
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

static void fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

static void request(int what, pid_t pid, unsigned long data, const char *name)
{
	if (ptrace(what, pid, 0, data))
		fail(name);
}

static size_t first_of(const cpu_set_t *set)
{
	size_t cpu = 0;

	while (cpu < CPU_SETSIZE - 1 && !CPU_ISSET(cpu, set))
		cpu++;
	return cpu;
}

// Waits for the next trap, handing on other signals; whether it is a breakpoint and not a step.
static int is_breakpoint(pid_t pid, int how)
{
	for (;;) {
		siginfo_t information;
		int status;

		if (waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status))
			fail("the program ended");
		request(PTRACE_GETSIGINFO, pid, (unsigned long)&information, "PTRACE_GETSIGINFO");
		if (WSTOPSIG(status) == SIGTRAP)
			return information.si_code == SI_KERNEL; // int3; a step is TRAP_TRACE
		request(how, pid, (unsigned long)WSTOPSIG(status), "a signal");
	}
}

int main(int argc, char **argv)
{
	pid_t pid = argc == 3 ? (pid_t)strtol(argv[1], NULL, 10) : 0;
	unsigned long intervals = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;

	if (pid <= 0 || intervals < 1) {
		fprintf(stderr, "usage: steps PID INTERVALS\n");
		return 2;
	}
	// On one processor: a step then is a switch to and fro, not a message between two.
	cpu_set_t before, one;
	if (sched_getaffinity(pid, sizeof(before), &before))
		fail("sched_getaffinity");
	CPU_ZERO(&one);
	CPU_SET(first_of(&before), &one);
	if (sched_setaffinity(0, sizeof(one), &one) || sched_setaffinity(pid, sizeof(one), &one))
		fail("sched_setaffinity");
	request(PTRACE_SEIZE, pid, 0, "PTRACE_SEIZE");
	puts("ready");
	fflush(stdout);
	if (!is_breakpoint(pid, PTRACE_CONT))
		fail("a trap that is no breakpoint");
	for (unsigned long i = 0; i < intervals; i++) {
		unsigned long steps = 0;

		do {
			request(PTRACE_SINGLESTEP, pid, 0, "PTRACE_SINGLESTEP");
			steps++;
		} while (!is_breakpoint(pid, PTRACE_SINGLESTEP));
		printf("%lu\n", steps - 1); // but for the breakpoint itself
	}
	request(PTRACE_DETACH, pid, 0, "PTRACE_DETACH");
	if (sched_setaffinity(pid, sizeof(before), &before))
		fail("sched_setaffinity");
	return 0;
}
