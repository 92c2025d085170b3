// SPDX-License-Identifier: Apache-2.0
// One thread in each kind of waiting call. Commands on standard input: "list" prints the names of the calls that still
// wait, "release" makes what each waits for happen, and prints "released" when every call has returned what it should.
// A call that ends before that, or otherwise, is named on standard output at the next command, with its result. usage:
// waits FIRST_CALL FOLDER: that call waits in the main thread; the folder is for named pipes and the like.
#include "wait_calls.h"

static struct wait waits[] = {
	{ .name = "read", call_read, write_byte, 1 },
	{ .name = "write", call_write, empty_pipe, 1 },
	{ .name = "splice", call_splice, write_byte, 1 },
	{ .name = "poll", call_poll, write_byte, 1 },
	{ .name = "poll_timed", call_poll_timed, write_byte, 1 },
	{ .name = "ppoll", call_ppoll, write_byte, 1 },
	{ .name = "select", call_select, write_byte, 1 },
	{ .name = "pselect", call_pselect, write_byte, 1 },
	{ .name = "epoll_wait", call_epoll_wait, write_byte, 1 },
	{ .name = "epoll_wait_timed", call_epoll_wait_timed, write_byte, 1 },
	{ .name = "epoll_pwait", call_epoll_pwait, write_byte, 1 },
	{ .name = "epoll_interrupted", call_epoll_interrupted, interrupt, -1 },
	{ .name = "futex", call_futex, wake_futex, 0 },
	{ .name = "futex_timed", call_futex_timed, wake_futex, 0 },
	{ .name = "futex_waitv", call_futex_waitv, wake_futex, 0 },
	{ .name = "recv", call_recv, write_byte, 1 },
	{ .name = "recv_timed", call_recv_timed, write_byte, 1 },
	{ .name = "read_timed", call_read_timed, write_byte, 1 },
	{ .name = "recvmsg_timed", call_recvmsg_timed, write_byte, 1 },
	{ .name = "send_timed", call_send_timed, empty_socket, 1 },
	{ .name = "accept", call_accept, connect_to, 0 },
	{ .name = "accept_timed", call_accept_timed, connect_to, 0 },
	{ .name = "wait4", call_wait4, kill_child, 0 },
	{ .name = "waitid", call_waitid, kill_child, 0 },
	{ .name = "semop", call_semop, remove_semaphore, 0 },
	{ .name = "semtimedop", call_semtimedop, remove_semaphore, 0 },
	{ .name = "msgrcv", call_msgrcv, send_message, 1 },
	{ .name = "mq_receive", call_mq_receive, mq_send_byte, 1 },
	{ .name = "sigwaitinfo", call_sigwaitinfo, send_first, 0 },
	{ .name = "sigtimedwait", call_sigtimedwait, send_second, 0 },
	{ .name = "signalfd", call_signalfd, send_third, 0 },
	{ .name = "pause", call_pause, interrupt, -1 },
	{ .name = "sigsuspend", call_sigsuspend, interrupt, -1 },
	{ .name = "flock", call_flock, release_file, 0 },
	{ .name = "open", call_open, open_other_end, 0 },
	{ .name = "eventfd", call_eventfd, write_event, 0 },
	{ .name = "inotify", call_inotify, remove_folder, 0 },
	{ .name = "io_getevents", call_io_getevents, write_byte, 1 },
	{ .name = "io_uring", call_io_uring, open_other_end, 0 },
};
enum { COUNT = sizeof(waits) / sizeof(waits[0]) };

static void *run(void *argument)
{
	struct wait *wait = argument;

	wait->thread = pthread_self();
	atomic_store(&wait->waits, true);
	atomic_store(&wait->begun, true);
	errno = 0;
	wait->result = wait->call(wait);
	wait->result_errno = errno;
	atomic_store(&wait->waits, false);
	return NULL;
}

static bool as_expected(const struct wait *wait)
{
	if (wait->expected == -1)
		return wait->result == -1 && wait->result_errno == EINTR;
	// sigwaitinfo returns the signal
	return wait->result == wait->expected || (wait->expected == 0 && wait->result >= SIGRTMIN);
}

static void list(void)
{
	for (int i = 0; i < COUNT; i++) {
		if (atomic_load(&waits[i].waits))
			printf("%s ", waits[i].name);
		else
			printf("%s:%ld:%s ", waits[i].name, waits[i].result, strerror(waits[i].result_errno));
	}
	printf("\n");
}

static void release(void)
{
	for (int i = 0; i < COUNT; i++)
		if (atomic_load(&waits[i].waits))
			waits[i].release(&waits[i]);
	for (int i = 0; i < COUNT; i++) {
		for (int tries = 0; atomic_load(&waits[i].waits) && tries < 20000; tries++)
			usleep(1000);
		if (atomic_load(&waits[i].waits))
			printf("%s does not return; ", waits[i].name);
		else if (!as_expected(&waits[i]))
			printf("%s returned %ld (%s); ", waits[i].name, waits[i].result,
			       strerror(waits[i].result_errno));
	}
	printf("released\n");
}

static void *obey(void *unused)
{
	char command[64];

	for (int i = 0; i < COUNT; i++)
		while (!atomic_load(&waits[i].begun))
			usleep(1000);
	printf("ready\n");
	while (fgets(command, sizeof(command), stdin)) {
		if (strcmp(command, "list\n") == 0)
			list();
		else if (strcmp(command, "release\n") == 0)
			release();
	}
	exit(0);
	return unused;
}

static void on_signal(int number) { (void)number; }

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_signal };
	pthread_t thread;
	sigset_t set;
	int first = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc < 3)
		return 2;
	folder = argv[2];
	sigaction(SIGUSR1, &action, NULL);
	sigemptyset(&set);
	for (int i = 1; i <= 3; i++)
		sigaddset(&set, SIGRTMIN + i);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (int i = 0; i < COUNT; i++)
		if (strcmp(argv[1], waits[i].name) == 0)
			first = i;
	for (int i = 0; i < COUNT; i++)
		if (i != first && pthread_create(&thread, NULL, run, &waits[i]))
			return 3;
	if (pthread_create(&thread, NULL, obey, NULL))
		return 3;
	run(&waits[first]);
	for (;;)
		pause();
}
