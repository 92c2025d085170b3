// SPDX-License-Identifier: Apache-2.0
// The main thread is in a call that moves data and cannot go on; another one waits for the end of the standard input,
// and then takes or gives the rest. Prints what the call returned. The first argument says which call.
#include "ptrace_target.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum { SIZE = 4 << 20, PART = 1000 };

static char data[SIZE], other[SIZE];
static int near_end, far_end, file;
static int gives; // the main thread reads
static atomic_bool done;

static ssize_t move(const char *call)
{
	struct iovec vectors[2] = { { data, SIZE / 2 }, { data + SIZE / 2, SIZE / 2 } };
	struct msghdr message = { .msg_iov = vectors, .msg_iovlen = 2 };

	if (strncmp(call, "writev", 6) == 0)
		return writev(near_end, vectors, 2);
	if (strncmp(call, "write", 5) == 0)
		return write(near_end, data, SIZE);
	if (strncmp(call, "readv", 5) == 0)
		return readv(near_end, vectors, 2);
	if (strncmp(call, "read", 4) == 0)
		return read(near_end, data, PART);
	if (strncmp(call, "sendfile", 8) == 0)
		return sendfile(near_end, file, NULL, SIZE);
	if (strncmp(call, "sendmsg", 7) == 0)
		return sendmsg(near_end, &message, 0);
	if (strncmp(call, "send", 4) == 0)
		return send(near_end, data, SIZE, 0);
	if (strncmp(call, "recvmsg", 7) == 0)
		return recvmsg(near_end, &message, MSG_WAITALL);
	if (strncmp(call, "recv", 4) == 0)
		return recv(near_end, data, SIZE, MSG_WAITALL);
	exit(2);
}

static void *go_on(void *unused)
{
	struct pollfd end = { .fd = 0, .events = POLLIN };

	target_ready();
	ppoll(&end, 1, NULL, NULL);
	while (!done) {
		ssize_t count =
			gives ? send(far_end, other, SIZE, MSG_DONTWAIT) : recv(far_end, other, SIZE, MSG_DONTWAIT);

		if (count < 0 && errno == ENOTSOCK) {
			fcntl(far_end, F_SETFL, O_NONBLOCK);
			count = gives ? write(far_end, other, SIZE) : read(far_end, other, SIZE);
		}
		if (count < 0)
			usleep(1000);
	}
	return unused;
}

int main(int argc, char **argv)
{
	const char *call = argc > 1 ? argv[1] : "";
	pthread_t thread;
	ssize_t result;
	int ends[2];

	gives = strncmp(call, "re", 2) == 0;
	if (strstr(call, "socket") ? socketpair(AF_UNIX, SOCK_STREAM, 0, ends) : pipe(ends))
		return 2;
	near_end = ends[gives ? 0 : 1];
	far_end = ends[gives ? 1 : 0];
	file = memfd_create("data", MFD_CLOEXEC);
	if (file < 0 || ftruncate(file, SIZE))
		return 2;
	if (strncmp(call, "recv", 4) == 0 && send(far_end, other, PART, 0) != PART)
		return 2;
	pthread_create(&thread, NULL, go_on, NULL);
	result = move(call);
	done = 1;
	pthread_join(thread, NULL);
	printf("%zd\n", result);
	return result < 0;
}
