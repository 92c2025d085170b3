// SPDX-License-Identifier: Apache-2.0
// Tries to execute the file that argument 1 names, over and over in one thread, and goes on when that fails; two others
// compute meanwhile.
#include "ptrace_target.h"

#include <pthread.h>
#include <stdatomic.h>

static atomic_bool ending;
static char **arguments;

static void *spin(void *unused)
{
	while (!ending)
		;
	return unused;
}

static void *try(void *unused)
{
	while (!ending) {
		execv(arguments[1], arguments + 1);
		usleep(5000);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[3];

	if (argc < 2)
		return 2;
	arguments = argv;
	// The one that executes comes last: while it does, no thread can be made (copy_fs in kernel/fork.c).
	for (int i = 0; i < 3; i++)
		if (pthread_create(&threads[i], NULL, i == 2 ? try : spin, NULL))
			return 2;
	target_ready();
	target_wait_for_end();
	ending = 1;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
