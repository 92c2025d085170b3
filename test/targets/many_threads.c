// SPDX-License-Identifier: Apache-2.0
// Sleeping threads. usage: many_threads N. Each sleeps in one of four system calls. "allocate" on standard input
// allocates once.
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static sem_t never, started;

static void *sleep_well(void *argument)
{
	struct timespec hour = { 3600, 0 };

	sem_post(&started);
	for (;;) {
		switch ((uintptr_t)argument % 4) {
		case 0:
			pause();
			break;
		case 1:
			nanosleep(&hour, NULL);
			break;
		case 2:
			poll(NULL, 0, -1);
			break;
		case 3:
			sem_wait(&never);
			break;
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 100;
	pthread_attr_t attributes;
	pthread_t thread;
	char byte;

	sem_init(&never, 0, 0);
	sem_init(&started, 0, 0);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 64 << 10);
	for (uintptr_t i = 0; i < count; i++)
		if (pthread_create(&thread, &attributes, sleep_well, (void *)i))
			return 2;
	for (unsigned long i = 0; i < count; i++)
		sem_wait(&started);
	dprintf(1, "ready\n");
	while (read(0, &byte, 1) == 1) {
		if (byte != '\n')
			continue;
		free(malloc(100));
		dprintf(1, "allocated\n");
	}
	return 0;
}
