// SPDX-License-Identifier: Apache-2.0
// One thread in each kind of waiting call that the kernel restarts by itself: none may return early, with EINTR or
// otherwise. Arguments: the calls to wait in (the first in the main thread), out of nanosleep, poll, futex, read,
// ppoll, sleep; and "early" before them when an early EINTR is allowed (but nothing else).
#include "ptrace_target.h"

#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

static atomic_bool ending, wrong;
static atomic_ulong interrupted;
static int allow_early, silent_pipe[2], closing_pipe[2]; // nothing is ever written into them

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

// Waits for 0.3 s in the call; 0 = as asked, else the errno.
static int wait_in(const char *call)
{
	const struct timespec time = { .tv_nsec = 300000000 };
	struct pollfd descriptor = { .fd = silent_pipe[0], .events = POLLIN };
	sigset_t none;
	int result;

	sigemptyset(&none);
	if (strcmp(call, "nanosleep") == 0) {
		result = nanosleep(&time, NULL);
	} else if (strcmp(call, "poll") == 0) {
		result = poll(&descriptor, 1, 300);
	} else if (strcmp(call, "ppoll") == 0) {
		result = ppoll(&descriptor, 1, &time, &none);
	} else if (strcmp(call, "futex") == 0) {
		int word = 0;

		result = (int)syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &time, NULL, 0);
		if (result < 0 && errno == ETIMEDOUT)
			result = 0;
	} else {
		fprintf(stderr, "no such call: %s\n", call);
		exit(2);
	}
	return result == 0 ? 0 : result < 0 ? errno : -1;
}

static void *waiter(void *argument)
{
	const char *call = argument;

	if (strcmp(call, "read") == 0) {
		char byte;
		ssize_t count = read(closing_pipe[0], &byte, 1); // returns when the other end is closed

		if (count != 0 || !ending) {
			fprintf(stderr, "read returned %zd: %s\n", count, strerror(errno));
			wrong = 1;
		}
		return NULL;
	}
	while (!ending) {
		double start = now();
		int result = wait_in(call);
		double took = now() - start;

		if (result == EINTR && allow_early) {
			interrupted++;
		} else if (result != 0 || took < 0.299) {
			fprintf(stderr, "%s returned %d (%s) after %f s\n", call, result, strerror(result), took);
			wrong = 1;
		}
	}
	return NULL;
}

static void *wait_for_end(void *unused)
{
	target_ready();
	target_wait_for_end();
	ending = 1;
	close(closing_pipe[1]);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t end, threads[16];
	int first = 1;

	allow_early = argc > 1 && strcmp(argv[1], "early") == 0;
	first += allow_early;
	if (argc <= first || argc > 16 || pipe(silent_pipe) || pipe(closing_pipe))
		return 2;
	for (int i = first + 1; i < argc; i++)
		pthread_create(&threads[i], NULL, waiter, argv[i]);
	pthread_create(&end, NULL, wait_for_end, NULL);
	waiter(argv[first]);
	for (int i = first + 1; i < argc; i++)
		pthread_join(threads[i], NULL);
	pthread_join(end, NULL);
	printf("%lu early\n", (unsigned long)interrupted);
	return wrong;
}
