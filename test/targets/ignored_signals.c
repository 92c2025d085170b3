// SPDX-License-Identifier: Apache-2.0
// Waits in calls that every stop ends early, without a time at which they end, while children of it end, whose SIGCHLD
// it ignores. Ends by 0 when each call has returned what it should, and else says which one has not.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/sem.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILDREN = 20 };
static int semaphores, pipe_ends[2];
static volatile sig_atomic_t handled;

static void handle(int number) { handled = number; }

static void write_to_pipe(void)
{
	if (write(pipe_ends[1], "x", 1) != 1)
		_exit(1);
}
static void send_blocked(void) { kill(getppid(), SIGUSR2); }
static void raise_semaphore(void) { semop(semaphores, &(struct sembuf){ .sem_op = 1 }, 1); }
static void send_until_killed(void) // it may come before the call
{
	for (;; usleep(50000))
		kill(getppid(), SIGUSR1);
}

// They end one after the other; the last one ends the parent's call.
static pid_t start_children(void (*end_call)(void))
{
	pid_t child = 0;

	for (int i = 0; i <= CHILDREN; i++) {
		child = fork();
		if (child != 0)
			continue;
		usleep(20000 + 5000 * (useconds_t)i);
		if (i == CHILDREN)
			end_call();
		_exit(0);
	}
	return child;
}

static void end_children(pid_t last)
{
	kill(last, SIGKILL);
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
}

static void check(int result, int expected, const char *what)
{
	if (result == expected)
		return;
	fprintf(stderr, "%s: %d, %d expected (%s)\n", what, result, expected, strerror(errno));
	semctl(semaphores, 0, IPC_RMID);
	exit(9);
}

static void wait_for_pipe(int epoll, const sigset_t *mask)
{
	struct epoll_event event;
	const pid_t last = start_children(write_to_pipe);
	char text;

	check(mask ? epoll_pwait(epoll, &event, 1, -1, mask) : epoll_wait(epoll, &event, 1, -1), 1, "epoll");
	check((int)read(pipe_ends[0], &text, 1), 1, "read");
	end_children(last);
}

static void wait_for_signal(const sigset_t *blocked)
{
	const pid_t last = start_children(send_blocked);

	check(sigwaitinfo(blocked, NULL), SIGUSR2, "sigwaitinfo");
	end_children(last);
}

static void wait_for_semaphore(void)
{
	const pid_t last = start_children(raise_semaphore);

	check(semop(semaphores, &(struct sembuf){ .sem_op = -1 }, 1), 0, "semop");
	end_children(last);
}

static void be_interrupted(int epoll)
{
	struct epoll_event event;
	const pid_t last = start_children(send_until_killed);

	check(epoll_wait(epoll, &event, 1, -1), -1, "epoll_wait, by a signal with a handler");
	check(errno, EINTR, "its error");
	check(handled, SIGUSR1, "handled");
	end_children(last);
}

int main(void)
{
	const int epoll = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event = { .events = EPOLLIN };
	sigset_t blocked, none;

	sigemptyset(&none);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR2);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = handle }, NULL);
	semaphores = semget(IPC_PRIVATE, 1, 0600);
	if (epoll < 0 || semaphores < 0 || pipe(pipe_ends) != 0 ||
	    epoll_ctl(epoll, EPOLL_CTL_ADD, pipe_ends[0], &event) != 0)
		return 8;
	wait_for_pipe(epoll, NULL);
	wait_for_pipe(epoll, &none);
	wait_for_signal(&blocked);
	wait_for_semaphore();
	be_interrupted(epoll);
	return semctl(semaphores, 0, IPC_RMID) == 0 ? 0 : 8;
}
