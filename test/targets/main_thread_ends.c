// SPDX-License-Identifier: Apache-2.0
// Another thread than the main one answers "right" to each line, and ends the process at the end of input. At "end
// main" the main thread ends.
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static sem_t end_main;

static void *answer(void *unused)
{
	char line[64];

	(void)unused;
	while (fgets(line, sizeof(line), stdin)) {
		char *volatile block = malloc(100);

		free(block);
		if (strcmp(line, "end main\n") == 0)
			sem_post(&end_main);
		puts("right");
		fflush(stdout);
	}
	exit(0);
}

int main(void)
{
	pthread_t thread;

	if (sem_init(&end_main, 0, 0) || pthread_create(&thread, NULL, answer, NULL))
		return 1;
	puts("ready");
	fflush(stdout);
	while (sem_wait(&end_main) != 0)
		;
	pthread_exit(NULL);
}
