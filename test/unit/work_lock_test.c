// SPDX-License-Identifier: Apache-2.0
// Who is at work on a process, and that nobody else is.
#include "attach/guard/work_lock.h"

#include "base/log.h"
#include "check.h"
#include "held_process.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define SOMEBODY ((uid_t)65534)
#define PID_FS   0x50494446 // PID_FS_MAGIC of include/uapi/linux/magic.h

static void test_bytes(void)
{
	static const int64_t strange[] = {
		0, 1, -1, INT64_MAX, (INT64_C(1) << 32), (INT64_C(1) << 32) + 0x80000000, (INT64_C(5) << 32) + 7, 7
	};
	enum work work;
	pid_t pid;

	for (int i = 0; i < WORK_COUNT; i++)
		for (pid_t p = 1; p > 0 && p < 1 << 30; p = p * 3 + 1) {
			CHECK(work_lock_read_byte(work_lock_byte((enum work)i, p), &work, &pid));
			CHECK(work == (enum work)i && pid == p);
		}
	for (size_t i = 0; i < sizeof(strange) / sizeof(strange[0]); i++)
		CHECK(!work_lock_read_byte(strange[i], &work, &pid));
	CHECK_EQUAL(work_lock_byte(WORK_attach, 1234), (INT64_C(1) << 32) + 1234); // tools of two versions meet
}

// A process that waits, and is the target.
static pid_t make_target(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return pid;
}

// So too, of that user; dumpable, so that its user's tools may look at it. Returns when it is.
static pid_t make_target_of(uid_t uid)
{
	int ready[2];
	char byte;
	pid_t pid;

	CHECK(pipe(ready) == 0);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		if (setresgid(uid, uid, uid) != 0 || setresuid(uid, uid, uid) != 0 || prctl(PR_SET_DUMPABLE, 1) != 0 ||
		    prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || write(ready[1], "r", 1) != 1)
			_exit(2);
		for (;;)
			pause();
	}
	CHECK(read(ready[0], &byte, 1) == 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static int refuses(pid_t target, enum work work, const char *says)
{
	struct work_lock lock;
	struct hs_error *error = work_lock_take(held_process(target), work, &lock);
	int result;

	if (!error) {
		work_lock_release(&lock);
		return 0;
	}
	result = error->code == HS_ERROR_REFUSED && strstr(error->message, says) ? 1 : -1;
	if (result < 0)
		fprintf(stderr, "%s, not %s\n", error->message, says);
	hs_error_destroy(error);
	return result;
}

// A tool that has the lock, is told to fork as tool_guard does, and then waits to be killed. Returns when it has it.
static pid_t make_holder(pid_t target, enum work work, uid_t uid, bool forks, pid_t *worker_ret)
{
	int ready[2];
	pid_t pid, worker = 0;

	CHECK(pipe(ready) == 0);
	pid = fork();
	if (pid == 0) {
		struct work_lock lock;
		struct hs_error *error;

		if (uid != geteuid() && (setresgid(uid, uid, uid) != 0 || setresuid(uid, uid, uid) != 0))
			_exit(2);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		error = work_lock_take(held_process(target), work, &lock);
		if (error)
			_exit(1);
		if (forks && fork() > 0)
			for (;;)
				pause();
		work_lock_follow(&lock);
		worker = getpid();
		if (write(ready[1], &worker, sizeof(worker)) != sizeof(worker))
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	CHECK(read(ready[0], &worker, sizeof(worker)) == sizeof(worker));
	close(ready[0]);
	*worker_ret = worker;
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void test_who(pid_t target)
{
	static const char *const names[] = { "attach", "set", "dump", "detach" };

	for (int i = 0; i < WORK_COUNT; i++) {
		char says[128], text[128] = "";
		pid_t worker, holder = make_holder(target, (enum work)i, geteuid(), false, &worker);

		CHECK_EQUAL(holder, worker);
		snprintf(says, sizeof(says),
			 "heapsnap %s (PID %d) is working on process %d; try again when PID %d has finished", names[i],
			 (int)holder, (int)target, (int)holder);
		for (int other = 0; other < WORK_COUNT; other++)
			if (i != WORK_dump || other != WORK_dump) // dumps wait for each other
				CHECK_EQUAL(refuses(target, (enum work)other, says), 1);
		CHECK(work_lock_is_taken(held_process(target), text, sizeof(text)));
		CHECK(strncmp(text, says, strlen(text)) == 0 && text[0]);
		end(holder); // by SIGKILL: the lock is gone with it
		CHECK(!work_lock_is_taken(held_process(target), text, sizeof(text)));
		CHECK_EQUAL(refuses(target, WORK_detach, ""), 0);
	}
}

// The parent waits, the child works: the lock is the child's, by name and by life.
static void test_child(pid_t target)
{
	pid_t worker, holder = make_holder(target, WORK_attach, geteuid(), true, &worker);
	char says[64];

	CHECK(worker > 0 && worker != holder);
	snprintf(says, sizeof(says), "heapsnap attach (PID %d)", (int)worker);
	CHECK_EQUAL(refuses(target, WORK_set, says), 1);
	end(holder);
	CHECK_EQUAL(refuses(target, WORK_set, says), 1);
	kill(worker, SIGKILL);
	while (kill(worker, 0) == 0)
		waitpid(worker, NULL, 0); // a child of init, or of this process (a subreaper)
	CHECK_EQUAL(refuses(target, WORK_set, ""), 0);
}

// Released by the tool, though a process that it has started still has the descriptor.
static void test_release(pid_t target)
{
	struct work_lock lock;
	pid_t child;

	CHECK(!work_lock_take(held_process(target), WORK_dump, &lock));
	child = make_target();
	work_lock_release(&lock);
	work_lock_release(&lock);
	CHECK_EQUAL(refuses(target, WORK_attach, ""), 0);
	end(child);

	// Nobody there: no lock, and no error, for what comes next says why.
	CHECK(!work_lock_take(held_process(child), WORK_attach, &lock));
	CHECK(lock.fd < 0 && lock.thread_fd < 0);
	work_lock_follow(&lock);
	work_lock_release(&lock);
}

static void fail_at_wait(enum hs_log_level level, const char *message)
{
	(void)level;
	if (strncmp(message, "wait for ", 9) == 0) {
		fprintf(stderr, "a dump waits for what is no dump: %s\n", message);
		exit(1);
	}
}

// Of others a dump says that they are there, and does not wait.
static void test_dump_beside_others(pid_t target)
{
	hs_log_set_sink(fail_at_wait);
	for (int i = 0; i < WORK_COUNT; i++) {
		pid_t worker, holder;

		if (i == WORK_dump)
			continue;
		holder = make_holder(target, (enum work)i, geteuid(), false, &worker);
		CHECK_EQUAL(refuses(target, WORK_dump, "has finished"), 1);
		end(holder);
	}
	hs_log_set_sink(NULL);
}

static void test_dumps_take_turns(pid_t target)
{
	struct work_lock lock;
	pid_t worker, holder = make_holder(target, WORK_dump, geteuid(), false, &worker), killer = fork();

	if (killer == 0) {
		usleep(100000);
		kill(holder, SIGKILL);
		_exit(0);
	}
	CHECK(!work_lock_take(held_process(target), WORK_dump, &lock)); // when the other has ended
	work_lock_release(&lock);
	waitpid(killer, NULL, 0);
	waitpid(holder, NULL, 0);
}

// Between two dumps, or its lock and its name, there is a moment without a name, also when the waiting began long ago.
static void test_nameless_for_a_moment(pid_t target)
{
	struct flock name = { .l_type = F_UNLCK, .l_whence = SEEK_SET };
	struct work_lock lock;
	int ready[2];
	char byte;
	pid_t holder;

	CHECK(pipe(ready) == 0);
	fflush(NULL);
	holder = fork();
	if (holder == 0) {
		if (work_lock_take(held_process(target), WORK_dump, &lock) || write(ready[1], "r", 1) != 1)
			_exit(1);
		usleep(300000);
		fcntl(lock.fd, F_OFD_SETLK, &name);
		usleep(30000);
		work_lock_follow(&lock);
		usleep(30000);
		_exit(0);
	}
	CHECK(read(ready[0], &byte, 1) == 1);
	close(ready[0]);
	close(ready[1]);
	CHECK(!work_lock_take(held_process(target), WORK_dump, &lock));
	work_lock_release(&lock);
	waitpid(holder, NULL, 0);
}

// Somebody locks the file and is no heapsnap; and somebody with no right to open it.
static void test_strangers(pid_t target)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/personality", (int)target);
	fd = open(path, O_RDONLY);
	CHECK(fd >= 0 && flock(fd, LOCK_EX) == 0);
	CHECK_EQUAL(refuses(target, WORK_attach, "another heapsnap, or a program that holds its lock"), 1);
	close(fd);
	if (geteuid() != 0) {
		CHECK_LEFT_OUT("not root");
		return;
	}
	fflush(NULL);
	if (fork() == 0) {
		struct work_lock lock;

		if (setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0)
			_exit(2);
		_exit(open(path, O_RDONLY) >= 0 || work_lock_take(held_process(target), WORK_attach, &lock) ||
		      lock.fd >= 0 || lock.thread_fd >= 0);
	}
	wait(&fd);
	CHECK_EQUAL(fd, 0);
}

// A process that holds the lock that all tools see, whatever their /proc; 0: this kernel has none, as all pidfds are
// one file.
static pid_t hold_for_all(pid_t target, uid_t uid)
{
	int ready[2], has_it = 0;
	pid_t pid;

	CHECK(pipe(ready) == 0);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		struct statfs system;
		int fd;

		if (setresgid(uid, uid, uid) != 0 || setresuid(uid, uid, uid) != 0 ||
		    prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
			_exit(2);
		fd = (int)syscall(SYS_pidfd_open, target, 0);
		has_it = fd >= 0 && fstatfs(fd, &system) == 0 && system.f_type == PID_FS && flock(fd, LOCK_EX) == 0;
		if (write(ready[1], &has_it, sizeof(has_it)) != sizeof(has_it))
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	CHECK(read(ready[0], &has_it, sizeof(has_it)) == sizeof(has_it));
	close(ready[0]);
	if (!has_it)
		end(pid);
	return has_it ? pid : 0;
}

// Root, the target's user and the tool's own keep a tool out by it; nobody else does.
static void test_holders_of_all(pid_t target)
{
	static const struct {
		uid_t holder, tool;
		bool keeps_out;
	} cases[] = {
		{ 0, 0, true },         { 65534, 0, false },     { 0, 65534, true },
		{ 65534, 65534, true }, { 65533, 65534, false },
	};

	if (geteuid() != 0) {
		CHECK_LEFT_OUT("not root");
		return;
	}
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		pid_t own = cases[i].tool ? make_target_of(cases[i].tool) : 0, subject = own ? own : target;
		pid_t holder = hold_for_all(subject, cases[i].holder);
		int status;

		if (holder) {
			fflush(NULL);
			if (fork() == 0) {
				if (setresgid(cases[i].tool, cases[i].tool, cases[i].tool) != 0 ||
				    setresuid(cases[i].tool, cases[i].tool, cases[i].tool) != 0)
					_exit(2);
				_exit(refuses(subject, WORK_attach, "another heapsnap (PID ") !=
				      (cases[i].keeps_out ? 1 : 0));
			}
			wait(&status);
			CHECK_EQUAL(status, 0);
			end(holder);
		} else {
			CHECK_LEFT_OUT("no file for each process");
		}
		if (own)
			end(own);
	}
}

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

int main(void)
{
	pid_t target = make_target();

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	test_bytes();
	test_dump_beside_others(target);
	test_who(target);
	test_child(target);
	test_release(target);
	test_dumps_take_turns(target);
	test_nameless_for_a_moment(target);
	test_strangers(target);
	test_holders_of_all(target);
	test_ended_main_thread();
	end(target);
	return CHECK_RESULT();
}
