// SPDX-License-Identifier: Apache-2.0
// One thread makes, checks and frees blocks all the time. Commands: "where": "TID MALLOC FREE", its id and the
// functions' addresses; "count": how many blocks it has freed.
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "commands.h"

static _Atomic unsigned long count;
static _Atomic int tid;

static void *work(void *unused)
{
	void *(*volatile allocate)(size_t) = malloc;
	void (*volatile release)(void *) = free;

	tid = (int)syscall(SYS_gettid);
	for (unsigned char i = 0;; i++) {
		size_t size = 16 + i * 8u;
		unsigned char *block = allocate(size);

		if (!block)
			abort();
		memset(block, i, size);
		for (size_t j = 0; j < size; j++)
			if (block[j] != i)
				abort();
		release(block);
		count++;
	}
	return unused;
}

int main(void)
{
	const char *command;
	pthread_t thread;

	if (pthread_create(&thread, NULL, work, NULL))
		return 2;
	while (!tid)
		usleep(1000);
	say_ready();
	while ((command = next_command())) {
		if (strcmp(command, "where") == 0)
			printf("%d %lu %lu\n", tid, (uintptr_t)dlsym(RTLD_NEXT, "malloc"),
			       (uintptr_t)dlsym(RTLD_NEXT, "free"));
		else
			printf("%lu\n", count);
	}
	return 0;
}
