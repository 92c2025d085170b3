// SPDX-License-Identifier: Apache-2.0
// Changes itself in the ways that a careless tool would leave behind, so that the checks of the tests can be seen to fail. One command a line.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void ignore(int number) { (void)number; }

static void *sleep_for_ever(void *argument)
{
	for (;;)
		pause();
	return argument;
}

int main(void)
{
	static char output_buffer[4096], input_buffer[256];
	char line[64];
	pthread_t thread;
	sigset_t set;

	setvbuf(stdout, output_buffer, _IOLBF, sizeof(output_buffer));
	setvbuf(stdin, input_buffer, _IOFBF, sizeof(input_buffer));
	puts("ready");
	while (fgets(line, sizeof(line), stdin)) {
		if (strcmp(line, "descriptor\n") == 0) {
			open("/dev/null", O_RDONLY);
		} else if (strcmp(line, "memfd\n") == 0) {
			memfd_create("left", 0);
		} else if (strcmp(line, "thread\n") == 0) {
			pthread_create(&thread, NULL, sleep_for_ever, NULL);
		} else if (strcmp(line, "mask\n") == 0) {
			sigemptyset(&set);
			sigaddset(&set, SIGUSR1);
			sigprocmask(SIG_BLOCK, &set, NULL);
		} else if (strcmp(line, "pending\n") == 0) {
			kill(getpid(), SIGUSR1);
		} else if (strcmp(line, "handler\n") == 0) {
			signal(SIGUSR2, ignore);
		} else if (strcmp(line, "memory\n") == 0) {
			mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		} else if (strcmp(line, "writable code\n") == 0) {
			mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		}
		puts("done");
	}
	return 0;
}
