// SPDX-License-Identifier: Apache-2.0
// Three threads that wait; the last one executes a file when a line comes. usage: late_exec wait FILE
// With any other arguments it is what was executed: says "after", and ends with its input.
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *file;

static void *rest(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static void *replace(void *unused)
{
	char byte;

	if (read(STDIN_FILENO, &byte, 1) == 1)
		execl(file, file, (char *)NULL);
	_exit(3);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	char byte;

	if (argc != 3 || strcmp(argv[1], "wait") != 0) {
		puts("after");
		fflush(stdout);
		while (read(STDIN_FILENO, &byte, 1) > 0)
			;
		return 0;
	}
	file = argv[2];
	if (pthread_create(&thread, NULL, rest, NULL) || pthread_create(&thread, NULL, replace, NULL))
		return 2;
	puts("ready");
	fflush(stdout);
	rest(NULL);
}
