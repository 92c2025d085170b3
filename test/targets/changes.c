// SPDX-License-Identifier: Apache-2.0
// Changes itself in the ways that a careless tool would leave behind, so that the checks of the tests can be seen to
// fail. One command a line.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "commands.h"

static void ignore(int number) { (void)number; }

static void *nothing(void *argument) { return argument; }

static void *sleep_for_ever(void *argument)
{
	for (;;)
		pause();
	return argument;
}

int main(void)
{
	const char *command;
	pthread_t thread;
	sigset_t set;

	say_ready();
	while ((command = next_command())) {
		if (strcmp(command, "descriptor") == 0) {
			open("/dev/null", O_RDONLY);
		} else if (strcmp(command, "memfd") == 0) {
			memfd_create("left", 0);
		} else if (strcmp(command, "thread") == 0) {
			pthread_create(&thread, NULL, sleep_for_ever, NULL);
		} else if (strcmp(command, "joined thread") == 0) {
			pthread_create(&thread, NULL, nothing, NULL);
			pthread_join(thread, NULL);
		} else if (strcmp(command, "mask") == 0) {
			sigemptyset(&set);
			sigaddset(&set, SIGUSR1);
			sigprocmask(SIG_BLOCK, &set, NULL);
		} else if (strcmp(command, "pending") == 0) {
			kill(getpid(), SIGUSR1);
		} else if (strcmp(command, "handler") == 0) {
			signal(SIGUSR2, ignore);
		} else if (strcmp(command, "memory") == 0) {
			mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		} else if (strcmp(command, "writable code") == 0) {
			mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		}
		puts("done");
	}
	return 0;
}
