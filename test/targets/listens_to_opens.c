// SPDX-License-Identifier: Apache-2.0
// A process that must allow each opening of a file in its mount namespace: a thread of it listens to fanotify's
// FAN_OPEN_PERM. Who opens such a file while it stands still waits until it goes on. Run it in a mount namespace of its
// own (unshare --mount).
//
// "work" on standard input opens a file, allocates, and prints "right". Where fanotify cannot be used it prints why and
// ends with status 77.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <unistd.h>

#include "commands.h"

static int listener;

static void *allow(void *unused)
{
	char buffer[8192] __attribute__((aligned(8)));

	(void)unused;
	for (;;) {
		ssize_t size = read(listener, buffer, sizeof(buffer));
		struct fanotify_event_metadata *event = (void *)buffer;

		if (size <= 0)
			continue;
		for (; FAN_EVENT_OK(event, size); event = FAN_EVENT_NEXT(event, size)) {
			struct fanotify_response response = { .fd = event->fd, .response = FAN_ALLOW };

			if (event->fd < 0)
				continue;
			close(event->fd); // the number is what the answer is for
			if (write(listener, &response, sizeof(response)) != sizeof(response))
				abort();
		}
	}
	return NULL;
}

int main(void)
{
	pthread_t thread;

	listener = fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC, O_RDONLY | O_CLOEXEC);
	if (listener < 0 || pthread_create(&thread, NULL, allow, NULL) ||
	    fanotify_mark(listener, FAN_MARK_ADD | FAN_MARK_MOUNT, FAN_OPEN_PERM, AT_FDCWD,
			  "/proc/self/exe") || // its own file
	    // the libraries'
	    fanotify_mark(listener, FAN_MARK_ADD | FAN_MARK_MOUNT, FAN_OPEN_PERM, AT_FDCWD, "/")) {
		printf("fanotify: %s\n", strerror(errno));
		fflush(stdout);
		return 77;
	}
	say_ready();
	while (next_command()) {
		int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

		free(malloc(100));
		puts(fd >= 0 ? "right" : "cannot open a file");
		close(fd);
	}
	return 0;
}
