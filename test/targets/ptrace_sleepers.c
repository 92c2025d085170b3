// SPDX-License-Identifier: Apache-2.0
// As many sleeping threads as the argument says.
#include "ptrace_target.h"

#include <pthread.h>
#include <stdlib.h>

static pthread_barrier_t barrier;

static void *sleeper(void *unused)
{
	pthread_barrier_wait(&barrier);
	for (;;)
		pause();
	return unused;
}

int main(int argc, char **argv)
{
	unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	pthread_t thread;

	pthread_barrier_init(&barrier, NULL, count + 1);
	for (unsigned i = 0; i < count; i++) {
		if (pthread_create(&thread, NULL, sleeper, NULL))
			return 2;
	}
	pthread_barrier_wait(&barrier);
	target_ready();
	target_wait_for_end();
	return 0;
}
