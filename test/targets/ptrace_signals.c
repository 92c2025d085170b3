// SPDX-License-Identifier: Apache-2.0
// Counts SIGRTMIN (queued, so that each counts) in three threads; the main thread gets its input in the meantime. At
// the end it prints how many came.
#include "ptrace_target.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

static atomic_ulong received;
static atomic_bool ending;

static void count(int signal)
{
	(void)signal;
	received++;
}

static void *spin(void *unused)
{
	volatile double x = 1;

	while (!ending)
		x = x * 1.0000001;
	return unused;
}

int main(void)
{
	struct sigaction action = { .sa_handler = count, .sa_flags = SA_RESTART };
	pthread_t threads[2];

	sigaction(SIGRTMIN, &action, NULL);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, spin, NULL);
	target_ready();
	target_wait_for_end();
	ending = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("%lu received\n", (unsigned long)received);
	return 0;
}
