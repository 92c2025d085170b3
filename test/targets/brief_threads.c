// SPDX-License-Identifier: Apache-2.0
// The main thread has ended; each other thread allocates, lives for some 2 ms, starts its successor and ends. Ends with
// its input.
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCKS = 20, HALF_LIFE_US = 1000 };

static void *live(void *unused)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	char *blocks[BLOCKS];
	pthread_t next;

	for (int i = 0; i < BLOCKS; i++) {
		blocks[i] = malloc(100 + (size_t)i * 50);
		if (!blocks[i])
			abort();
		memset(blocks[i], i, 100);
	}
	usleep(HALF_LIFE_US);
	for (int i = 0; i < BLOCKS; i++) {
		if (blocks[i][99] != i)
			abort();
		free(blocks[i]);
	}
	if (poll(&input, 1, 0) > 0)
		exit(0);
	usleep(HALF_LIFE_US);
	if (pthread_create(&next, NULL, live, NULL) || pthread_detach(next))
		abort();
	return unused;
}

int main(void)
{
	pthread_t first;

	printf("ready\n");
	fflush(stdout);
	if (pthread_create(&first, NULL, live, NULL) || pthread_detach(first))
		abort();
	pthread_exit(NULL);
}
