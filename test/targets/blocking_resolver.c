// SPDX-License-Identifier: Apache-2.0
// Blocks SIGURG while the loader still relocates the program: in the resolver of an indirect function.
// usage: blocking_resolver [wait | go [COMMAND ...]]
// With eight threads it goes on, until its input has a byte or ends, or at once, and allocates; then it takes the
// signal, and ends with exit status 6, and one more for each SIGURG that it gets; or executes the command.
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SIGURG_BIT (UINT64_C(1) << 22)
enum { THREADS = 8 };

static volatile sig_atomic_t signals;

static void count_signal(int number)
{
	(void)number;
	signals++;
}

static int status_of_end(void) { return 6 + signals; }

static int (*resolve(void))(void)
{
	const uint64_t mask = SIGURG_BIT;

	syscall(SYS_rt_sigprocmask, 0 /* SIG_BLOCK */, &mask, NULL, sizeof(mask));
	return status_of_end;
}

static int chosen(void) __attribute__((ifunc("resolve")));

static void *allocate(void *unused)
{
	for (;;) {
		free(malloc(100));
		usleep(1000);
	}
	return unused;
}

static void go_on(bool waits)
{
	const struct sigaction action = { .sa_handler = count_signal };
	pthread_t thread;
	sigset_t set;
	char byte;

	sigaction(SIGURG, &action, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread, NULL, allocate, NULL);
	if (waits && read(STDIN_FILENO, &byte, 1) < 0)
		abort();
	if (!malloc(1000))
		abort();
	sigemptyset(&set);
	sigaddset(&set, SIGURG);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

int main(int argc, char **argv)
{
	free(malloc(100));
	if (argc > 1)
		go_on(strcmp(argv[1], "wait") == 0);
	if (argc > 2) {
		execvp(argv[2], argv + 2);
		return 1;
	}
	return chosen();
}
