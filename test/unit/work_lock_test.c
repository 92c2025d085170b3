// SPDX-License-Identifier: Apache-2.0
// Who is at work on a process, and that nobody else is.
#include "attach/guard/work_lock.h"

#include "base/clock.h"
#include "base/log.h"
#include "lock_holders.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

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

// The parent waits, the child works: the lock is the child's, by name, by life, and in the kernel's list.
static void test_child(pid_t target)
{
	const int fd = open_file(target), fd_for_all = open_file_for_all(target);
	pid_t worker, holder = make_holder(target, WORK_attach, geteuid(), true, &worker);
	char says[64];

	CHECK(worker > 0 && worker != holder);
	snprintf(says, sizeof(says), "heapsnap attach (PID %d)", (int)worker);
	CHECK_EQUAL(refuses(target, WORK_set, says), 1);
	end(holder);
	CHECK_EQUAL(refuses(target, WORK_set, says), 1);
	CHECK(is_listed(fd, worker) && !is_listed(fd, holder));
	if (fd_for_all >= 0)
		CHECK(is_listed(fd_for_all, worker) && !is_listed(fd_for_all, holder));
	close(fd);
	close(fd_for_all);
	end_worker(worker);
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
	if (strncmp(message, "waiting for ", 12) == 0) {
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

// What happens in the pauses of a tool that waits; NULL = nothing, for as long as it wants.
static void (*in_pause)(void);

int nanosleep(const struct timespec *time, struct timespec *rest)
{
	if (!in_pause)
		return clock_nanosleep(CLOCK_MONOTONIC, 0, time, rest) == 0 ? 0 : -1;
	in_pause();
	return 0;
}

static struct work_lock other;
static unsigned pauses;

static void let_other_go_on(void)
{
	struct flock name = { .l_type = F_UNLCK, .l_whence = SEEK_SET };

	switch (pauses++) {
	case 0:
	case 2:
		usleep(150000); // the tool gets no processor for longer than it waits for a name
		CHECK(fcntl(other.fd, F_OFD_SETLK, &name) == 0);
		break;
	case 1:
	case 3:
		work_lock_follow(&other);
		break;
	default:
		work_lock_release(&other);
	}
}

// Between two dumps, or its lock and its name, there is a moment without a name, also when the waiting began long ago,
// and when the tool has not looked for long. One such moment has nothing to do with another.
static void test_nameless_for_a_moment(pid_t target)
{
	struct work_lock lock;

	CHECK(!work_lock_take(held_process(target), WORK_dump, &other));
	in_pause = let_other_go_on;
	CHECK(!work_lock_take(held_process(target), WORK_dump, &lock));
	in_pause = NULL;
	CHECK_EQUAL(pauses, 5);
	work_lock_release(&lock);
	work_lock_release(&other);
}

struct look {
	clockid_t clock; // whose time passes at the first lock that is seen
	bool has_seen;
};

static bool see_slowly(const struct listed_lock *lock, void *context)
{
	struct look *look = context;
	const uint64_t end = hs_clock_ns(look->clock) + UINT64_C(300000000);

	(void)lock;
	while (!look->has_seen && hs_clock_ns(look->clock) < end)
		if (look->clock == CLOCK_MONOTONIC)
			usleep(10000);
	look->has_seen = true;
	return true;
}

// The kernel's list is read for so much time of a processor at most, and a tool that gets none reads on.
static void test_slow_look(pid_t target)
{
	struct look slow = { .clock = CLOCK_THREAD_CPUTIME_ID }, starved = { .clock = CLOCK_MONOTONIC };
	const int fd = open_file(target);
	struct stat file;

	CHECK(fd >= 0 && flock(fd, LOCK_EX) == 0 && fstat(fd, &file) == 0);
	CHECK_EQUAL(lock_list_read(&file, see_slowly, &slow), ETIME);
	CHECK_EQUAL(lock_list_read(&file, see_slowly, &starved), 0);
	CHECK(slow.has_seen && starved.has_seen);
	close(fd);
}

// Somebody locks the file and is no heapsnap; and somebody with no right to open it.
static void test_another_program(pid_t target)
{
	struct flock name = {
		.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = work_lock_byte(WORK_set, getpid()), .l_len = 1
	};
	char says[128], text[192] = "";
	int fd = open_file(target);

	snprintf(says, sizeof(says), "another heapsnap, or a program that holds its lock (/proc/%d/personality), is",
		 (int)target);
	CHECK(fd >= 0 && flock(fd, LOCK_EX) == 0);
	CHECK_EQUAL(refuses(target, WORK_attach, says), 1);
	CHECK(work_lock_is_taken(held_process(target), text, sizeof(text)) && strstr(text, says));
	// A name is not the lock.
	CHECK(flock(fd, LOCK_UN) == 0 && fcntl(fd, F_OFD_SETLK, &name) == 0);
	CHECK_EQUAL(refuses(target, WORK_attach, ""), 0);
	CHECK(!work_lock_is_taken(held_process(target), text, sizeof(text)));
	close(fd);
	if (geteuid() != 0) {
		CHECK_LEFT_OUT("not root");
		return;
	}
	fflush(NULL);
	if (fork() == 0) {
		struct work_lock lock;

		if (setresgid(SOMEBODY, SOMEBODY, SOMEBODY) != 0 || setresuid(SOMEBODY, SOMEBODY, SOMEBODY) != 0)
			_exit(2);
		_exit(open_file(target) >= 0 || work_lock_take(held_process(target), WORK_attach, &lock) ||
		      lock.fd >= 0 || lock.thread_fd >= 0);
	}
	wait(&fd);
	CHECK_EQUAL(fd, 0);
}

// Root, the target's user and the tool's own keep a tool out by it; nobody else does.
static void test_holders_of_all(pid_t target)
{
	static const struct {
		uid_t holder, effective, tool;
		bool keeps_out;
	} cases[] = {
		{ 0, 0, 0, true },
		{ SOMEBODY, SOMEBODY, 0, false },
		{ SOMEBODY, 0, 0, false }, // it runs a set-user-ID program
		{ 0, 0, SOMEBODY, true },
		{ SOMEBODY, SOMEBODY, SOMEBODY, true },
		{ SOMEBODY - 1, SOMEBODY - 1, SOMEBODY, false },
		{ SOMEBODY - 1, SOMEBODY, SOMEBODY, false },
	};

	if (geteuid() != 0) {
		CHECK_LEFT_OUT("not root");
		return;
	}
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		pid_t own = cases[i].tool ? make_target_of(cases[i].tool) : 0, subject = own ? own : target;
		pid_t holder = hold_for_all(subject, cases[i].holder, cases[i].effective, LOCK_EX);
		int status;

		if (holder) {
			fflush(NULL);
			if (fork() == 0) {
				char text[192];

				if (setresgid(cases[i].tool, cases[i].tool, cases[i].tool) != 0 ||
				    setresuid(cases[i].tool, cases[i].tool, cases[i].tool) != 0)
					_exit(2);
				_exit(refuses(subject, WORK_attach, "another heapsnap (PID ") !=
					      (cases[i].keeps_out ? 1 : 0) ||
				      work_lock_is_taken(held_process(subject), text, sizeof(text)) !=
					      cases[i].keeps_out);
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

// Other users that share the lock hide nobody, and the tool itself has it beside them.
static void test_shared_lock_for_all(pid_t target)
{
	const int fd = open_file_for_all(target);
	pid_t others[2], holder, worker;
	struct work_lock lock;

	if (geteuid() != 0 || fd < 0) {
		CHECK_LEFT_OUT("%s", geteuid() != 0 ? "not root" : "no file for each process");
		return;
	}
	others[0] = hold_for_all(target, SOMEBODY, SOMEBODY, LOCK_SH);
	CHECK(!work_lock_take(held_process(target), WORK_attach, &lock));
	CHECK(is_listed(fd, getpid()));
	work_lock_release(&lock);
	holder = hold_for_all(target, 0, 0, LOCK_SH);
	others[1] = hold_for_all(target, SOMEBODY, SOMEBODY, LOCK_SH);
	CHECK_EQUAL(refuses(target, WORK_attach, "another heapsnap (PID "), 1);
	end(holder);
	holder = make_holder(target, WORK_attach, 0, true, &worker);
	end(holder);
	CHECK(is_listed(fd, worker) && !is_listed(fd, holder));
	end_worker(worker);
	end(others[0]);
	end(others[1]);
	close(fd);
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
	test_slow_look(target);
	test_another_program(target);
	test_holders_of_all(target);
	test_shared_lock_for_all(target);
	end(target);
	return CHECK_RESULT();
}
