// SPDX-License-Identifier: Apache-2.0
// Forks workers that execute no program, and ends by 0 when each of them has ended by 4.
//   run_forked NUMBER [threads | reads | nested | vfork | filter | init | spawn PROGRAM ... | exec PROGRAM ...]
// It says "worker PID" of each, which waits for the end of the input in a call that a stop ends early (9 = EINTR),
// keeps 1000 blocks of 100 bytes in in_worker, says "done", and ends when it gets SIGUSR1. Besides:
//   threads   three more threads, which wait so, and keep 10 blocks of 50 bytes each in in_thread
//   reads     it waits in a read, which the kernel makes again after a stop
//   nested    it forks one more
//   vfork     before it waits, a child that shares its memory sleeps for 1.5 s
//   filter    before it waits, it sets a seccomp filter that allows all
//   init      it is the first process of a PID namespace (which needs a privilege), and gets SIGSTOP and SIGTERM from
//             within, for a second
//   spawn     another thread of it starts another program when the input is at its end (posix_spawn)
//   exec      it becomes another program in place of keeping blocks
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 3 };
static void *volatile kept;

__attribute__((noinline)) static void in_worker(void)
{
	for (int i = 0; i < 1000; i++)
		kept = memset(malloc(100), 1, 100);
}

__attribute__((noinline)) static void in_thread(void)
{
	for (int i = 0; i < 10; i++)
		kept = memset(malloc(50), 1, 50);
}

static void wait_for_end_of_input(void)
{
	const int epoll = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event = { .events = EPOLLIN };

	if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, 0, &event) != 0)
		_exit(8);
	if (epoll_wait(epoll, &event, 1, -1) != 1)
		_exit(errno == EINTR ? 9 : 8);
	close(epoll);
}

static void read_to_end_of_input(void)
{
	char text;

	if (read(0, &text, 1) == 0)
		return;
	fprintf(stderr, "read: error %d\n", errno);
	_exit(9);
}

static void *thread(void *argument)
{
	wait_for_end_of_input();
	in_thread();
	return argument;
}

static void *spawn(void *argument)
{
	char **command = argument;
	pid_t child;
	int status = 0;

	wait_for_end_of_input();
	if (posix_spawn(&child, *command, NULL, NULL, command, environ) != 0)
		_exit(8);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (status != W_EXITCODE(4, 0))
		_exit(7);
	return NULL;
}

static void vfork_for_a_while(void)
{
	const pid_t child = vfork();

	if (child == 0) {
		usleep(1500000);
		_exit(0);
	}
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
}

static void set_filter(void)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	const struct sock_fprog filter = { 1, &allow };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
		_exit(8);
}

static bool end_all(pid_t *workers, int count)
{
	bool are_well = true;
	int status;

	for (int i = 0; i < count; i++) {
		while (waitpid(workers[i], &status, 0) < 0 && errno == EINTR)
			;
		if (status != W_EXITCODE(4, 0))
			fprintf(stderr, "worker %d: status %x\n", (int)workers[i], status);
		are_well &= status == W_EXITCODE(4, 0);
	}
	return are_well;
}

static _Noreturn void work(const char *how, char **command)
{
	pthread_t threads[THREADS];
	sigset_t end;
	int number;

	sigemptyset(&end);
	sigaddset(&end, SIGUSR1);
	if (strcmp(how, "vfork") == 0)
		vfork_for_a_while();
	if (strcmp(how, "filter") == 0)
		set_filter();
	for (int i = 0; i < THREADS && strcmp(how, "threads") == 0; i++)
		pthread_create(&threads[i], NULL, thread, NULL);
	if (strcmp(how, "reads") == 0)
		read_to_end_of_input();
	if (strcmp(how, "spawn") == 0)
		pthread_create(&threads[0], NULL, spawn, command);
	wait_for_end_of_input();
	if (strcmp(how, "spawn") == 0)
		pthread_join(threads[0], NULL);
	if (strcmp(how, "exec") == 0)
		execv(*command, command);
	for (int i = 0; i < THREADS && strcmp(how, "threads") == 0; i++)
		pthread_join(threads[i], NULL);
	in_worker();
	printf("done\n");
	fflush(stdout);
	sigwait(&end, &number);
	_exit(4);
}

// What the kernel keeps from the first process of a PID namespace. They come while it waits, or before.
static void send_to_init(void)
{
	for (int i = 0; i < 20; i++, usleep(50000)) {
		kill(1, SIGSTOP);
		kill(1, SIGTERM);
	}
	_exit(0);
}

static pid_t start_worker(const char *how, char **command)
{
	const bool is_init = strcmp(how, "init") == 0;
	const pid_t pid = is_init ? (pid_t)syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, NULL, NULL, NULL, NULL) : fork();

	if (pid > 0 && strcmp(how, "nested") != 0) {
		printf("worker %d\n", (int)pid);
		fflush(stdout);
	}
	if (pid != 0)
		return pid;
	if (is_init && fork() == 0)
		send_to_init();
	if (strcmp(how, "nested") == 0) {
		pid_t inner = start_worker("", command);

		wait_for_end_of_input();
		_exit(end_all(&inner, 1) ? 4 : 7);
	}
	work(how, command);
}

int main(int argc, char **argv)
{
	const int count = argc > 1 ? atoi(argv[1]) : 1;
	pid_t *workers = calloc((size_t)count, sizeof(*workers));
	sigset_t end;

	sigemptyset(&end);
	sigaddset(&end, SIGUSR1);
	sigprocmask(SIG_BLOCK, &end, NULL);
	for (int i = 0; workers && i < count; i++)
		workers[i] = start_worker(argc > 2 ? argv[2] : "", argv + 3);
	return workers && end_all(workers, count) ? 0 : 1;
}
