// SPDX-License-Identifier: Apache-2.0
// Threads that compute. usage: blocks_signals N. "block" on standard input makes each of them block every signal (by
// the system call, as the C library keeps two for itself), "unblock" none, "work" allocates once.
#include "commands.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static sem_t done;
static volatile int is_blocked, is_over;

static void set_mask(int blocked)
{
	const uint64_t mask = blocked ? UINT64_MAX : 0;

	syscall(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, &mask, NULL, sizeof(mask));
	sem_post(&done);
}

static void *compute(void *unused)
{
	int blocked = 0;

	set_mask(blocked);
	while (!is_over) {
		if (blocked != is_blocked) {
			blocked = !blocked;
			set_mask(blocked);
		}
	}
	return unused;
}

static void wait_for(int count)
{
	for (int i = 0; i < count; i++)
		sem_wait(&done);
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t *threads = calloc((size_t)count, sizeof(*threads));
	const char *command;

	sem_init(&done, 0, 0);
	for (int i = 0; i < count; i++)
		if (!threads || pthread_create(&threads[i], NULL, compute, NULL))
			return 2;
	wait_for(count);
	say_ready();
	while ((command = next_command())) {
		if (strcmp(command, "work") == 0) {
			free(malloc(100));
			puts("worked");
		} else {
			is_blocked = strcmp(command, "block") == 0;
			wait_for(count);
			puts(is_blocked ? "blocked" : "unblocked");
		}
	}
	is_over = 1;
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	free(threads);
	return 0;
}
