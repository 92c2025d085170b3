// SPDX-License-Identifier: Apache-2.0
// Executes itself over and over, each time from a thread, with others running: argument 1 is how often.
#include "ptrace_target.h"

#include <pthread.h>
#include <stdlib.h>

static char **arguments;

static void *spin(void *unused)
{
	for (volatile unsigned long i = 0;; i++)
		;
	return unused;
}

static void *replace(void *unused)
{
	execv("/proc/self/exe", arguments);
	return unused;
}

int main(int argc, char **argv)
{
	static char left[16];
	pthread_t thread;
	int count = argc > 1 ? atoi(argv[1]) : 0;

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
