// SPDX-License-Identifier: Apache-2.0
// A thread with pages in the middle of its stack that are not there and registered with userfaultfd, and nobody who
// fills them in; it allocates all the time. Says "unsupported" where that cannot be had. Ends at end of input.
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "commands.h"

enum { HOLE = 1 << 20, BELOW = 64 << 10, PAGE = 4096 };

static int descriptor;
static int ready[2];
static void *volatile kept;

static __attribute__((noipa)) void allocate_for_ever(void)
{
	for (;;) {
		free(kept);
		kept = malloc(100);
		usleep(1000);
	}
}

// What the frames below the hole will use is there before it is registered.
static __attribute__((noipa)) void touch_below(void)
{
	volatile char below[BELOW];

	for (int i = 0; i < BELOW; i += PAGE / 2)
		below[i] = 1;
	(void)below[0];
}

// The registration is a mapping of its own in /proc/PID/maps, in which this frame's lower end lies too.
static __attribute__((noipa)) void *below_a_hole(void *unused)
{
	volatile char hole[HOLE]; // nobody touches it
	struct uffdio_register range = {
		.range = { ((uintptr_t)hole - BELOW / 2) & ~(uintptr_t)(PAGE - 1), HOLE },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	char answer;

	(void)unused;
	touch_below();
	madvise((void *)(((uintptr_t)hole + PAGE) & ~(uintptr_t)(PAGE - 1)), HOLE - 2 * PAGE, MADV_DONTNEED);
	answer = ioctl(descriptor, UFFDIO_REGISTER, &range) == 0 ? 'y' : 'n';
	if (write(ready[1], &answer, 1) == 1)
		allocate_for_ever();
	return (void *)(uintptr_t)hole[0];
}

int main(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	pthread_t thread;
	char answer = 'n';

	descriptor = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
	if (descriptor >= 0 && ioctl(descriptor, UFFDIO_API, &api) == 0 && pipe(ready) == 0 &&
	    pthread_create(&thread, NULL, below_a_hole, NULL) == 0 && read(ready[0], &answer, 1) != 1)
		return 1;
	say_ready();
	while (next_command())
		puts(answer == 'y' ? "registered" : "unsupported");
	_exit(0);
}
