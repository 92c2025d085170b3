// SPDX-License-Identifier: Apache-2.0
#include "base/live_thread.h"

#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int pipes[2];

static void *live_on(void *unused)
{
	pid_t tid = (pid_t)syscall(SYS_gettid);

	(void)unused;
	if (write(pipes[1], &tid, sizeof(tid)) != sizeof(tid))
		_exit(1);
	for (;;)
		pause();
}

int main(void)
{
	pid_t child, tid = 0;
	pthread_t thread;
	siginfo_t info;

	CHECK_EQUAL(hs_live_thread(getpid()), getpid());
	CHECK_EQUAL(hs_live_thread(2147483647), 2147483647);
	CHECK_EQUAL(pipe(pipes), 0);
	fflush(stdout);
	child = fork();
	if (child == 0) {
		if (pthread_create(&thread, NULL, live_on, NULL))
			_exit(1);
		pthread_exit(NULL);
	}
	CHECK_EQUAL(read(pipes[0], &tid, sizeof(tid)), sizeof(tid));
	for (int i = 0; i < 20000 && hs_live_thread(child) == child; i++)
		usleep(1000);
	CHECK(tid != child);
	CHECK_EQUAL(hs_live_thread(child), tid);
	// A zombie has no other.
	kill(child, SIGKILL);
	CHECK_EQUAL(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	CHECK_EQUAL(hs_live_thread(child), child);
	waitpid(child, NULL, 0);
	return CHECK_RESULT();
}
