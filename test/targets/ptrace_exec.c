// SPDX-License-Identifier: Apache-2.0
// Executes itself over and over, each time from a thread, with others running. usage: ptrace_exec [SCRIPT] TIMES
// [ready] SCRIPT, which names this program as its interpreter, is executed instead: the kernel puts it first.
#include "ptrace_target.h"

#include <pthread.h>
#include <stdlib.h>

static const char *file = "/proc/self/exe";
static char **arguments;

static void *spin(void *unused)
{
	for (volatile unsigned long i = 0;; i++)
		;
	return unused;
}

static void *replace(void *unused)
{
	execv(file, arguments);
	return unused;
}

int main(int argc, char **argv)
{
	static char left[16];
	pthread_t thread;
	int count;

	if (argc > 2 && argv[1][0] == '/') {
		file = argv[1];
		argc--;
		argv++;
	}
	count = argc > 1 ? atoi(argv[1]) : 0;
	if (argc > 2)
		target_ready();
	if (count == 0)
		return 0;
	snprintf(left, sizeof(left), "%d", count - 1);
	arguments = (char *[]){ argv[0], left, NULL };
	for (int i = 0; i < 8; i++)
		pthread_create(&thread, NULL, i == 5 ? replace : spin, NULL);
	for (;;)
		pause();
}
