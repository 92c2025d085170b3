// SPDX-License-Identifier: Apache-2.0
// The lock of those who may not open the file, or do not see who has it: the main thread has ended, the kernel's list
// is too long, no more files may be opened.
#include "attach/guard/work_lock.h"

#include "base/log.h"
#include "lock_holders.h"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

static void *wait_for_ever(void *unused)
{
	(void)unused;
	for (;;)
		pause();
	return NULL;
}

// A process of SOMEBODY's with two threads, of which the main one ends when a byte comes to *end_ret. Returns when it
// runs.
static pid_t make_target_of_threads(int *end_ret)
{
	int ends[2];
	pid_t target;
	char byte;

	CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
	fflush(NULL);
	target = fork();
	if (target == 0) {
		pthread_t thread;

		if (setresgid(SOMEBODY, SOMEBODY, SOMEBODY) != 0 || setresuid(SOMEBODY, SOMEBODY, SOMEBODY) != 0 ||
		    prctl(PR_SET_DUMPABLE, 1) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 ||
		    pthread_create(&thread, NULL, wait_for_ever, NULL) != 0 || write(ends[0], "r", 1) != 1 ||
		    read(ends[0], &byte, 1) != 1)
			_exit(2);
		pthread_exit(NULL);
	}
	close(ends[0]);
	CHECK(read(ends[1], &byte, 1) == 1);
	*end_ret = ends[1];
	return target;
}

static void end_main_thread(pid_t target, int end_fd)
{
	char path[64], text[4096];

	CHECK(write(end_fd, "e", 1) == 1);
	close(end_fd);
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)target);
	do { // until it is a zombie
		FILE *file = fopen(path, "r");
		size_t size = file ? fread(text, 1, sizeof(text) - 1, file) : 0;

		text[size] = 0;
		if (file)
			fclose(file);
	} while (text[0] && !strstr(text, ") Z "));
}

// A tool of the user finds who has the lock, by name.
static int finds_holder(pid_t target, uid_t uid)
{
	int status;

	fflush(NULL);
	if (fork() == 0) {
		char text[128] = "";

		if (setresgid(uid, uid, uid) != 0 || setresuid(uid, uid, uid) != 0)
			_exit(2);
		_exit(refuses(target, WORK_attach, "heapsnap set (PID ") != 1 ||
		      !work_lock_is_taken(held_process(target), text, sizeof(text)) ||
		      !strstr(text, "heapsnap set (PID "));
	}
	wait(&status);
	return status == 0;
}

// A process whose main thread has ended, before or while the lock was taken: each tool, of root and of its user, finds
// each other.
static void test_ended_main_thread(void)
{
	if (geteuid() != 0) {
		CHECK_LEFT_OUT("not root");
		return;
	}
	for (unsigned i = 0; i < 8; i++) {
		const uid_t holder_uid = i & 1 ? SOMEBODY : 0, tool_uid = i & 2 ? SOMEBODY : 0;
		const bool ends_while_held = i & 4;
		int end_fd;
		pid_t target = make_target_of_threads(&end_fd), worker, holder;

		if (!ends_while_held)
			end_main_thread(target, end_fd);
		holder = make_holder(target, WORK_set, holder_uid, false, &worker);
		if (ends_while_held)
			end_main_thread(target, end_fd);
		if (!finds_holder(target, tool_uid)) {
			fprintf(stderr, "holder of user %u, tool of user %u, %s\n", holder_uid, tool_uid,
				ends_while_held ? "ends while held" : "had ended");
			CHECK(false);
		}
		end(holder);
		CHECK_EQUAL(refuses(target, WORK_attach, ""), 0);
		end(target);
	}
}

// A program that is no heapsnap has locked the file of the thread that lives: the message says which file that is.
static void test_thread_file(void)
{
	int end_fd, fd;
	pid_t target;
	char path[64], says[192];

	if (geteuid() != 0) {
		CHECK_LEFT_OUT("not root");
		return;
	}
	target = make_target_of_threads(&end_fd);
	end_main_thread(target, end_fd);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/personality", (int)target,
		 (int)process_live_thread(held_process(target)));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0 && flock(fd, LOCK_EX) == 0);
	snprintf(says, sizeof(says), "another heapsnap, or a program that holds its lock (%s), is", path);
	CHECK_EQUAL(refuses(target, WORK_attach, says), 1);
	close(fd);
	end(target);
}

enum { MANY_LOCKS = 40000, LOCKS_OF_FILE = 1000 };

// A process of SOMEBODY's that has so many locks that the list is longer than is read. Returns when it has them.
static pid_t make_long_list(void)
{
	int ready[2];
	char byte;
	pid_t pid;

	CHECK(pipe(ready) == 0);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		int fd = -1;

		if (setresgid(SOMEBODY, SOMEBODY, SOMEBODY) != 0 || setresuid(SOMEBODY, SOMEBODY, SOMEBODY) != 0 ||
		    prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
			_exit(2);
		for (int i = 0; i < MANY_LOCKS; i++) {
			// The last first: the kernel looks for the place from the first.
			struct flock lock = { .l_type = F_RDLCK,
					      .l_whence = SEEK_SET,
					      .l_start = 2L * (LOCKS_OF_FILE - i % LOCKS_OF_FILE),
					      .l_len = 1 };

			if (i % LOCKS_OF_FILE == 0)
				fd = memfd_create("locks", 0);
			if (fcntl(fd, F_OFD_SETLK, &lock) != 0)
				_exit(3);
		}
		if (write(ready[1], "r", 1) != 1)
			_exit(2);
		for (;;)
			pause();
	}
	CHECK(read(ready[0], &byte, 1) == 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static bool has_said_unknown;

static void note_unknown(enum hs_log_level level, const char *message)
{
	(void)level;
	has_said_unknown |= strstr(message, "/proc/locks is too long") != NULL;
}

// Any user can make the list long. What is behind is not known: the lock for all is let be, for else they would keep
// everybody out; a lock that is the only proof is taken to be there.
static void test_long_list(pid_t target)
{
	int end_fd, status;
	pid_t list, holder, ended;
	struct work_lock lock;
	cpu_set_t all, one;

	if (geteuid() != 0) {
		CHECK_LEFT_OUT("not root");
		return;
	}
	ended = make_target_of_threads(&end_fd);
	end_main_thread(ended, end_fd);
	CHECK(sched_getaffinity(0, sizeof(all), &all) == 0);
	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	CHECK(sched_setaffinity(0, sizeof(one), &one) == 0); // of one processor, the latest locks are listed first
	holder = hold_for_all(target, 0, 0, LOCK_EX);
	list = make_long_list();
	CHECK(sched_setaffinity(0, sizeof(all), &all) == 0);
	if (holder) {
		hs_log_set_sink(note_unknown);
		CHECK(!work_lock_take(held_process(target), WORK_attach, &lock));
		work_lock_release(&lock);
		hs_log_set_sink(NULL);
		CHECK(has_said_unknown);
		end(holder);
	}
	fflush(NULL);
	if (fork() == 0) {
		char text[192] = "";

		if (setresgid(SOMEBODY, SOMEBODY, SOMEBODY) != 0 || setresuid(SOMEBODY, SOMEBODY, SOMEBODY) != 0)
			_exit(2);
		_exit(refuses(ended, WORK_attach, "/proc/locks is too long; try again later, or as root") != 1 ||
		      !work_lock_is_taken(held_process(ended), text, sizeof(text)) ||
		      !strstr(text, "/proc/locks is too long"));
	}
	wait(&status);
	CHECK_EQUAL(status, 0);
	CHECK_EQUAL(refuses(ended, WORK_attach, ""), 0); // root needs no list
	end(list);
	end(ended);
}

// Runs it in a process of the user's that may open so many files more.
static bool takes_with_few_left(pid_t target, uid_t uid, int left)
{
	int status;

	fflush(NULL);
	if (fork() == 0) {
		const struct process *process;
		struct work_lock lock;
		struct hs_error *error;
		struct rlimit limit;
		int next;

		if (setresgid(uid, uid, uid) != 0 || setresuid(uid, uid, uid) != 0)
			_exit(2);
		process = held_process(target);
		next = dup(0); // the lowest that is free
		for (int fd = next + 1; fd < next + 32; fd++)
			if (fd != process->folder && fd != process->pidfd)
				dup2(0, fd); // none is free between
		close(next);
		limit.rlim_cur = limit.rlim_max = (rlim_t)next + 32;
		for (int fd = next + 31; left > 1 && fd > next; fd--)
			if (fd != process->folder && fd != process->pidfd) {
				close(fd);
				left--;
			}
		if (left == 0)
			dup2(0, next);
		if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
			_exit(2);
		error = work_lock_take(process, WORK_attach, &lock);
		_exit(error ? 0 : lock.thread_fd >= 0 ? 1 : 3);
	}
	wait(&status);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) <= 1); // never without the lock of the thread
	return WEXITSTATUS(status) == 1;
}

// A tool that may open no more files has the whole lock or none. Its user's, and one that root's name or lock in the
// process's own file keeps out.
static void test_few_files(void)
{
	int end_fd, fd;
	pid_t target;
	struct flock name = {
		.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = work_lock_byte(WORK_set, getpid()), .l_len = 1
	};

	if (geteuid() != 0) {
		CHECK_LEFT_OUT("not root");
		return;
	}
	target = make_target_of_threads(&end_fd);
	end_main_thread(target, end_fd);
	for (int left = 0; left < 12; left++)
		CHECK(takes_with_few_left(target, 0, left) || left < 8);
	fd = open_file(target);
	CHECK(fd >= 0 && flock(fd, LOCK_EX) == 0);
	for (int left = 0; left < 12; left++)
		CHECK(!takes_with_few_left(target, SOMEBODY, left));
	CHECK(flock(fd, LOCK_UN) == 0);
	CHECK(takes_with_few_left(target, SOMEBODY, 12));
	CHECK(fcntl(fd, F_OFD_SETLK, &name) == 0);
	CHECK(!takes_with_few_left(target, SOMEBODY, 12));
	close(fd);
	end(target);
}

// The list is the machine's: another one of this test, of another build, would find it too long.
static void be_alone(void)
{
	static const char name[] = "heapsnap work_lock_unseen_test";
	struct sockaddr_un address = { .sun_family = AF_UNIX }; // abstract: it leaves nothing behind
	const socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof(name));
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int failed = -1;

	memcpy(address.sun_path + 1, name, sizeof(name) - 1);
	for (int i = 0; i < 1200 && failed; i++) {
		failed = bind(fd, (const struct sockaddr *)&address, size);
		if (failed)
			usleep(50000);
	}
	CHECK_EQUAL(failed, 0);
}

int main(void)
{
	pid_t target;

	be_alone();
	target = make_target();
	test_ended_main_thread();
	test_thread_file();
	test_long_list(target);
	test_few_files();
	end(target);
	return CHECK_RESULT();
}
