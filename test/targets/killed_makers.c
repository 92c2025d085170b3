// SPDX-License-Identifier: Apache-2.0
// Processes that end while their threads make threads, or processes: so often, one after the other. Each process that
// was made writes a byte. At the end: how many processes ended otherwise than by exit status 3. usage: killed_makers
// threads|processes NUMBER
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAKERS = 3, STATUS = 3 };

static int said[2];

static void *end(void *context) { return context; }

static void *make_threads(void *context)
{
	for (;;) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, end, context) == 0)
			pthread_detach(thread);
	}
}

static void *make_processes(void *context)
{
	(void)context;
	for (;;) {
		if (fork() != 0)
			continue;
		_exit(write(said[1], "", 1) != 1);
	}
}

static void make_and_end(void *(*make)(void *), int round)
{
	close(said[0]);
	for (int i = 0; i < MAKERS; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, make, NULL) != 0)
			abort();
	}
	usleep((useconds_t)(500 + 37 * round));
	_exit(STATUS);
}

// Until all that has the pipe has ended.
static void read_all(void)
{
	char bytes[4096];

	while (read(said[0], bytes, sizeof(bytes)) > 0)
		;
}

int main(int count, char **arguments)
{
	void *(*make)(void *) = count > 2 && strcmp(arguments[1], "threads") == 0 ? make_threads : make_processes;
	int others = 0;

	for (int i = 0; count > 2 && i < atoi(arguments[2]); i++) {
		int status = 0;
		pid_t pid;

		if (pipe(said) != 0)
			abort();
		pid = fork();
		if (pid == 0)
			make_and_end(make, i);
		close(said[1]);
		if (waitpid(pid, &status, 0) != pid)
			abort();
		read_all();
		close(said[0]);
		others += !WIFEXITED(status) || WEXITSTATUS(status) != STATUS;
	}
	printf("%d\n", others);
	return 0;
}
