// SPDX-License-Identifier: Apache-2.0
// The main thread ends, another one lives on: answers "right" to each line, and ends the process at the end of input.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void *answer(void *unused)
{
	char line[64];

	(void)unused;
	while (fgets(line, sizeof(line), stdin)) {
		free(malloc(100));
		puts("right");
		fflush(stdout);
	}
	exit(0);
}

int main(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, answer, NULL))
		return 1;
	puts("ready");
	fflush(stdout);
	pthread_exit(NULL);
}
