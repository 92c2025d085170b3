// SPDX-License-Identifier: Apache-2.0
// Longer than 500 lines: a table of the system calls that wait.
// The waiting calls of waits.c: each a function that waits, and one that makes what it waits for happen.
#ifndef HEAPSNAP_TEST_WAIT_CALLS_H
#define HEAPSNAP_TEST_WAIT_CALLS_H

#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LONG = 1000 }; // seconds; nothing waits so long

// What one call waits with.
struct wait {
	const char *name;
	long (*call)(struct wait *); // what it returns in the end, -1 with errno
	void (*release)(struct wait *);
	long expected;
	int ends[2]; // a pipe, or what the call needs
	atomic_int word;
	pid_t child;
	pthread_t thread;
	atomic_bool begun, waits;
	long result;
	int result_errno;
	char path[64];
};

static const char *folder; // for named pipes and the like
static const struct timespec long_time = { .tv_sec = LONG };

// The end of the pipe on which most of them wait.
static int end_of(struct wait *wait)
{
	if (wait->ends[0] == 0 && pipe(wait->ends))
		exit(3);
	return wait->ends[0];
}

static void write_byte(struct wait *wait)
{
	if (write(wait->ends[1], "x", 1) != 1)
		exit(3);
}

static long call_read(struct wait *wait)
{
	char byte;

	return read(end_of(wait), &byte, 1);
}

static long call_write(struct wait *wait)
{
	char byte = 0;

	fcntl(end_of(wait), F_SETFL, O_NONBLOCK);
	fcntl(wait->ends[1], F_SETFL, O_NONBLOCK);
	while (write(wait->ends[1], &byte, 1) == 1)
		;
	fcntl(wait->ends[1], F_SETFL, 0);
	return write(wait->ends[1], &byte, 1);
}

static void empty_pipe(struct wait *wait)
{
	char bytes[65536];

	if (read(wait->ends[0], bytes, sizeof(bytes)) <= 0)
		exit(3);
}

static long call_splice(struct wait *wait)
{
	int other[2];

	if (pipe(other))
		exit(3);
	return splice(end_of(wait), NULL, other[1], NULL, 1, 0);
}

static struct pollfd poll_entry(struct wait *wait) { return (struct pollfd){ .fd = end_of(wait), .events = POLLIN }; }

static long call_poll(struct wait *wait)
{
	struct pollfd entry = poll_entry(wait);

	return poll(&entry, 1, -1);
}

static long call_poll_timed(struct wait *wait)
{
	struct pollfd entry = poll_entry(wait);

	return poll(&entry, 1, LONG * 1000);
}

static long call_ppoll(struct wait *wait)
{
	struct pollfd entry = poll_entry(wait);
	sigset_t none;

	sigemptyset(&none);
	return ppoll(&entry, 1, &long_time, &none);
}

static long call_select(struct wait *wait)
{
	struct timeval time = { .tv_sec = LONG };
	fd_set set;

	FD_ZERO(&set);
	FD_SET(end_of(wait), &set);
	return select(wait->ends[0] + 1, &set, NULL, NULL, &time);
}

static long call_pselect(struct wait *wait)
{
	sigset_t none;
	fd_set set;

	sigemptyset(&none);
	FD_ZERO(&set);
	FD_SET(end_of(wait), &set);
	return pselect(wait->ends[0] + 1, &set, NULL, NULL, NULL, &none);
}

static int epoll_of(struct wait *wait)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fd = epoll_create1(0);

	if (epoll_ctl(fd, EPOLL_CTL_ADD, end_of(wait), &event))
		exit(3);
	return fd;
}

static long call_epoll_wait(struct wait *wait)
{
	struct epoll_event event;

	return epoll_wait(epoll_of(wait), &event, 1, -1);
}

static long call_epoll_wait_timed(struct wait *wait)
{
	struct epoll_event event;

	return epoll_wait(epoll_of(wait), &event, 1, LONG * 1000);
}

static long call_epoll_pwait(struct wait *wait)
{
	struct epoll_event event;
	sigset_t all;

	sigfillset(&all);
	return epoll_pwait(epoll_of(wait), &event, 1, -1, &all);
}

static long call_futex(struct wait *wait)
{
	return syscall(SYS_futex, &wait->word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

static long call_futex_timed(struct wait *wait)
{
	return syscall(SYS_futex, &wait->word, FUTEX_WAIT_PRIVATE, 0, &long_time, NULL, 0);
}

static long call_futex_waitv(struct wait *wait)
{
	struct {
		uint64_t value, address;
		uint32_t flags, reserved;
	} entry = { 0, (uintptr_t)&wait->word, 2 | FUTEX_PRIVATE_FLAG, 0 }; // FUTEX2_SIZE_U32

	return syscall(449, &entry, 1, 0, NULL, 0);
}

static void wake_futex(struct wait *wait)
{
	atomic_store(&wait->word, 1);
	syscall(SYS_futex, &wait->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void connect_pair(struct wait *wait)
{
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, wait->ends))
		exit(3);
}

static void set_timeout(int fd, int option)
{
	struct timeval time = { .tv_sec = LONG };

	setsockopt(fd, SOL_SOCKET, option, &time, sizeof(time));
}

static long call_recv(struct wait *wait)
{
	char byte;

	connect_pair(wait);
	return recv(wait->ends[0], &byte, 1, 0);
}

static long call_recv_timed(struct wait *wait)
{
	char byte;

	connect_pair(wait);
	set_timeout(wait->ends[0], SO_RCVTIMEO);
	return recv(wait->ends[0], &byte, 1, 0);
}

static long call_read_timed(struct wait *wait)
{
	char byte;

	connect_pair(wait);
	set_timeout(wait->ends[0], SO_RCVTIMEO);
	return read(wait->ends[0], &byte, 1);
}

static long call_recvmsg_timed(struct wait *wait)
{
	char byte;
	struct iovec part = { &byte, 1 };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	connect_pair(wait);
	set_timeout(wait->ends[0], SO_RCVTIMEO);
	return recvmsg(wait->ends[0], &message, 0);
}

static long call_send_timed(struct wait *wait)
{
	char bytes[1000] = { 0 };

	connect_pair(wait);
	while (send(wait->ends[1], bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
	set_timeout(wait->ends[1], SO_SNDTIMEO);
	return send(wait->ends[1], bytes, 1, 0);
}

static void empty_socket(struct wait *wait)
{
	char bytes[65536];

	while (recv(wait->ends[0], bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
}

static struct sockaddr_un address_of(const struct wait *wait)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", folder, wait->name);
	return address;
}

static long accept_on(struct wait *wait, bool timed)
{
	struct sockaddr_un address = address_of(wait);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) || listen(fd, 1))
		exit(3);
	if (timed)
		set_timeout(fd, SO_RCVTIMEO);
	return accept(fd, NULL, NULL) >= 0 ? 0 : -1;
}

static long call_accept(struct wait *wait) { return accept_on(wait, false); }
static long call_accept_timed(struct wait *wait) { return accept_on(wait, true); }

static void connect_to(struct wait *wait)
{
	struct sockaddr_un address = address_of(wait);

	if (connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&address, sizeof(address)))
		exit(3);
}

static void start_child(struct wait *wait)
{
	pid_t child = fork();

	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(1);
	}
	wait->child = child;
}

static long call_wait4(struct wait *wait)
{
	start_child(wait);
	return wait4(wait->child, NULL, __WALL, NULL) == wait->child ? 0 : -1;
}

static long call_waitid(struct wait *wait)
{
	start_child(wait);
	return waitid(P_PID, (id_t)wait->child, NULL, WEXITED);
}

static void kill_child(struct wait *wait) { kill(wait->child, SIGKILL); }

static long call_semop(struct wait *wait)
{
	struct sembuf take = { 0, -1, 0 };

	wait->ends[0] = semget(IPC_PRIVATE, 1, 0600);
	return semop(wait->ends[0], &take, 1);
}

static long call_semtimedop(struct wait *wait)
{
	struct sembuf take = { 0, -1, 0 };

	wait->ends[0] = semget(IPC_PRIVATE, 1, 0600);
	return semtimedop(wait->ends[0], &take, 1, &long_time);
}

static void give_semaphore(struct wait *wait)
{
	struct sembuf give = { 0, 1, 0 };

	semop(wait->ends[0], &give, 1);
}

static void remove_semaphore(struct wait *wait)
{
	give_semaphore(wait);
	while (atomic_load(&wait->waits))
		usleep(1000);
	semctl(wait->ends[0], 0, IPC_RMID);
}

struct message {
	long type;
	char text[1];
};

static long call_msgrcv(struct wait *wait)
{
	struct message message;

	wait->ends[0] = msgget(IPC_PRIVATE, 0600);
	return msgrcv(wait->ends[0], &message, 1, 0, 0);
}

static void send_message(struct wait *wait)
{
	struct message message = { 1, { 0 } };

	msgsnd(wait->ends[0], &message, 1, 0);
	while (atomic_load(&wait->waits))
		usleep(1000);
	msgctl(wait->ends[0], IPC_RMID, NULL);
}

static long call_mq_receive(struct wait *wait)
{
	struct mq_attr attributes = { .mq_maxmsg = 1, .mq_msgsize = 1 };
	char name[64], byte;

	snprintf(name, sizeof(name), "/heapsnap-waits-%d", (int)getpid());
	wait->ends[0] = (int)mq_open(name, O_RDWR | O_CREAT, 0600, &attributes);
	mq_unlink(name);
	return mq_receive((mqd_t)wait->ends[0], &byte, 1, NULL);
}

static void mq_send_byte(struct wait *wait) { mq_send((mqd_t)wait->ends[0], "x", 1, 0); }

static long wait_for_signal(int number, const struct timespec *time)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, number);
	return sigtimedwait(&set, NULL, time);
}

static long call_sigwaitinfo(struct wait *wait)
{
	(void)wait;
	return wait_for_signal(SIGRTMIN + 1, NULL);
}

static long call_sigtimedwait(struct wait *wait)
{
	(void)wait;
	return wait_for_signal(SIGRTMIN + 2, &long_time);
}

static long call_signalfd(struct wait *wait)
{
	struct signalfd_siginfo info;
	sigset_t set;

	(void)wait;
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 3);
	return read(signalfd(-1, &set, 0), &info, sizeof(info)) == sizeof(info) ? 0 : -1;
}

static void send_first(struct wait *wait) { pthread_kill(wait->thread, SIGRTMIN + 1); }
static void send_second(struct wait *wait) { pthread_kill(wait->thread, SIGRTMIN + 2); }
static void send_third(struct wait *wait) { pthread_kill(wait->thread, SIGRTMIN + 3); }

// Interrupted by a signal, as they should be, and by nothing else.
static long call_pause(struct wait *wait)
{
	(void)wait;
	return pause();
}

static long call_sigsuspend(struct wait *wait)
{
	sigset_t none;

	(void)wait;
	sigemptyset(&none);
	return sigsuspend(&none);
}

static long call_epoll_interrupted(struct wait *wait)
{
	struct epoll_event event;

	return epoll_wait(epoll_of(wait), &event, 1, -1);
}

static void interrupt(struct wait *wait) { pthread_kill(wait->thread, SIGUSR1); }

static void make_path(struct wait *wait) { snprintf(wait->path, sizeof(wait->path), "%s/%s", folder, wait->name); }

static long call_flock(struct wait *wait)
{
	make_path(wait);
	wait->ends[0] = open(wait->path, O_CREAT | O_RDWR, 0600);
	flock(wait->ends[0], LOCK_EX);
	return flock(open(wait->path, O_RDWR), LOCK_EX);
}

static void release_file(struct wait *wait) { flock(wait->ends[0], LOCK_UN); }

static long call_open(struct wait *wait)
{
	make_path(wait);
	mkfifo(wait->path, 0600);
	return open(wait->path, O_RDONLY) >= 0 ? 0 : -1;
}

static void open_other_end(struct wait *wait)
{
	if (open(wait->path, O_WRONLY) < 0)
		exit(3);
}

static long call_eventfd(struct wait *wait)
{
	uint64_t value;

	wait->ends[1] = eventfd(0, 0);
	return read(wait->ends[1], &value, sizeof(value)) == sizeof(value) ? 0 : -1;
}

static void write_event(struct wait *wait)
{
	uint64_t one = 1;

	if (write(wait->ends[1], &one, sizeof(one)) != sizeof(one))
		exit(3);
}

static long call_inotify(struct wait *wait)
{
	char bytes[1024];
	int fd = inotify_init1(0);

	make_path(wait);
	mkdir(wait->path, 0700);
	inotify_add_watch(fd, wait->path, IN_DELETE_SELF);
	return read(fd, bytes, sizeof(bytes)) > 0 ? 0 : -1;
}

static void remove_folder(struct wait *wait) { rmdir(wait->path); }

static long call_io_getevents(struct wait *wait)
{
	struct iocb block = { .aio_lio_opcode = IOCB_CMD_POLL, .aio_buf = POLLIN }, *list = &block;
	struct io_event event;
	aio_context_t context = 0;

	block.aio_fildes = (uint32_t)end_of(wait);
	if (syscall(SYS_io_setup, 1, &context) || syscall(SYS_io_submit, context, 1, &list) != 1)
		exit(3);
	return syscall(SYS_io_getevents, context, 1, 1, &event, NULL);
}

// A request that a worker thread of the kernel carries out, waiting in it: to open a named pipe.
static long call_io_uring(struct wait *wait)
{
	struct io_uring_params parameters = { 0 };
	int fd = (int)syscall(SYS_io_uring_setup, 8, &parameters);
	char *submissions, *completions;
	struct io_uring_sqe *requests;

	if (fd < 0) // forbidden on this system: the test says so
		return -2;
	submissions = mmap(NULL, parameters.sq_off.array + parameters.sq_entries * 4, PROT_READ | PROT_WRITE,
			   MAP_SHARED, fd, IORING_OFF_SQ_RING);
	completions = mmap(NULL, parameters.cq_off.cqes + parameters.cq_entries * sizeof(struct io_uring_cqe),
			   PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_CQ_RING);
	requests = mmap(NULL, parameters.sq_entries * sizeof(*requests), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			IORING_OFF_SQES);
	make_path(wait);
	mkfifo(wait->path, 0600);
	requests[0] = (struct io_uring_sqe){ .opcode = IORING_OP_OPENAT,
					     .fd = AT_FDCWD,
					     .addr = (uintptr_t)wait->path,
					     .open_flags = O_RDONLY,
					     .flags = IOSQE_ASYNC };
	*(unsigned *)(submissions + parameters.sq_off.array) = 0;
	__atomic_store_n((unsigned *)(submissions + parameters.sq_off.tail), 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, fd, 1, 0, 0, NULL, 0) != 1)
		exit(3);
	if (syscall(SYS_io_uring_enter, fd, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0)
		return -1;
	errno = -((struct io_uring_cqe *)(completions + parameters.cq_off.cqes))->res;
	return errno < 0 ? 0 : -1;
}

#endif
