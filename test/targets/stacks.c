// SPDX-License-Identifier: Apache-2.0
// Threads on unusual stacks, which allocate and sleep in turn.
// usage: stacks KIND THREADS [US]: with so many microseconds of sleep between two allocations
//   guarded    stacks of one mapping, side by side, with guards that do not split it (MADV_GUARD_INSTALL), as new C
//              libraries make them
//   bare       the same without any guard
//   served     stacks whose pages another thread of the program provides (userfaultfd), with a hole above each stack
//              pointer
//   shared     stacks in shared memory
//   coroutines as guarded, and the threads have left the stacks that they were made with for these
// Commands: "count" prints how often the threads have allocated; "more" makes as many threads again: "made"; "rest"
// lets them sleep for good, each with what its last calls have left on its stack: "resting". A kind that the kernel
// does not have: "unsupported" instead of "ready".
#include <alloca.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "commands.h"

enum { STACK_SIZE = 1 << 18, HOLE = 1 << 16, PAGE = 4096, GUARD_INSTALL = 102 };

static atomic_ulong count, started, resting;
static atomic_bool may_rest;
static const char *kind;
static int faults = -1;
static useconds_t pause_us = 2000;

__attribute__((noipa)) static void run(volatile char *hole)
{
	atomic_fetch_add(&started, 1);
	while (!atomic_load(&may_rest)) {
		volatile char *block = malloc(100 + (uintptr_t)hole % 50);

		*block = 1;
		free((void *)block);
		atomic_fetch_add(&count, 1);
		usleep(pause_us);
	}
	atomic_fetch_add(&resting, 1);
	for (;;)
		pause();
}

static void run_coroutine(void) { run(NULL); }

static void *begin(void *stack)
{
	ucontext_t own, other;

	if (strcmp(kind, "coroutines") == 0) {
		getcontext(&other);
		other.uc_stack = (stack_t){ .ss_sp = (char *)stack + PAGE, .ss_size = STACK_SIZE - PAGE };
		other.uc_link = &own;
		makecontext(&other, run_coroutine, 0);
		swapcontext(&own, &other);
	}
	run(strcmp(kind, "served") == 0 ? alloca(HOLE) : NULL);
	return NULL;
}

static void *provide(void *unused)
{
	struct uffd_msg message;

	while (read(faults, &message, sizeof(message)) == sizeof(message)) {
		struct uffdio_zeropage zero = { .range = { message.arg.pagefault.address & ~(uint64_t)(PAGE - 1),
							   PAGE } };

		ioctl(faults, UFFDIO_ZEROPAGE, &zero);
	}
	return unused;
}

static int begin_providing(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	pthread_t thread;

	faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	return faults >= 0 && ioctl(faults, UFFDIO_API, &api) == 0 && pthread_create(&thread, NULL, provide, NULL) == 0;
}

static int prepare(char *stack)
{
	struct uffdio_register range = { .range = { (uintptr_t)stack, STACK_SIZE },
					 .mode = UFFDIO_REGISTER_MODE_MISSING };

	if (strcmp(kind, "guarded") == 0 || strcmp(kind, "coroutines") == 0)
		return madvise(stack, PAGE, GUARD_INSTALL) == 0;
	if (strcmp(kind, "served") == 0)
		return ioctl(faults, UFFDIO_REGISTER, &range) == 0;
	return 1;
}

static int make_threads(size_t threads)
{
	static size_t made;
	int sharing = strcmp(kind, "shared") == 0 ? MAP_SHARED : MAP_PRIVATE;
	char *room = mmap(NULL, threads * STACK_SIZE, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS, -1, 0);

	for (size_t i = 0; i < threads; i++) {
		pthread_attr_t attributes;
		pthread_t thread;

		if (!prepare(room + i * STACK_SIZE))
			return 0;
		pthread_attr_init(&attributes);
		if (strcmp(kind, "coroutines") != 0)
			pthread_attr_setstack(&attributes, room + i * STACK_SIZE, STACK_SIZE);
		if (pthread_create(&thread, &attributes, begin, room + i * STACK_SIZE) != 0)
			exit(2);
	}
	made += threads;
	while (atomic_load(&started) < made)
		usleep(1000);
	return 1;
}

int main(int argc, char **argv)
{
	size_t threads = argc > 2 ? strtoul(argv[2], NULL, 10) : 4;
	const char *command;

	kind = argc > 1 ? argv[1] : "bare";
	pause_us = argc > 3 ? (useconds_t)strtoul(argv[3], NULL, 10) : pause_us;
	if ((strcmp(kind, "served") == 0 && !begin_providing()) || !make_threads(threads)) {
		puts("unsupported");
		return 0;
	}
	say_ready();
	while ((command = next_command())) {
		if (strcmp(command, "more") == 0) {
			make_threads(threads);
			puts("made");
		} else if (strcmp(command, "rest") == 0) {
			atomic_store(&may_rest, true);
			while (atomic_load(&resting) < atomic_load(&started))
				usleep(1000);
			puts("resting");
		} else {
			printf("%lu\n", atomic_load(&count));
		}
		fflush(stdout);
	}
	_exit(0);
}
