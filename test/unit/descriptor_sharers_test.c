// SPDX-License-Identifier: Apache-2.0
// Which processes that share the descriptors of a process's threads are found, and waited for. Those of a process whose
// main thread has ended are in memory_sharers_test.c.
#include "attach/process/descriptor_sharers.h"
#include "attach/process/thread_descriptor.h"
#include "attach/process/thread_facts.h"
#include "check.h"
#include "ended_child.h"
#include "held_process.h"

#include <linux/kcmp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// The long one ends when the processes do, which take long where others have the processors.
enum { LONG_WAIT_MS = 300000, SHORT_WAIT_MS = 100 };

static void nap(void) { nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL); }

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

enum { TABLES = 7 };

static struct owner {
	char stack[16384] __attribute__((aligned(16)));
	volatile bool runs;
	bool ends;
	pid_t sharer;
} owners[TABLES];

// A thread with a table of descriptors of its own, and a process that shares it: until it is killed, or, where `ends`
// says so, for 300 ms.
static int share_own_table(void *argument)
{
	struct owner *owner = argument;
	const pid_t target = getpid();
	const pid_t sharer = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);

	if (sharer < 0)
		_exit(2);
	if (sharer == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (int i = 0; getppid() == target && (i < 30 || !owner->ends); i++)
			nap();
		_exit(0);
	}
	owner->sharer = sharer;
	owner->runs = true;
	for (;;)
		nap();
}

static _Noreturn void be_with_tables(bool for_a_moment, int ready)
{
	pid_t sharers[TABLES];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < TABLES; i++) {
		owners[i].ends = for_a_moment;
		if (clone(share_own_table, owners[i].stack + sizeof(owners[i].stack),
			  CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD, &owners[i]) < 0)
			_exit(2);
		while (!owners[i].runs)
			nap();
		sharers[i] = owners[i].sharer;
	}
	if (write(ready, sharers, sizeof(sharers)) != sizeof(sharers))
		_exit(2);
	for (;;)
		pause();
}

static pid_t begin_with_tables(bool for_a_moment, pid_t sharers[TABLES])
{
	int ready[2];
	pid_t pid;

	if (pipe(ready))
		_exit(2);
	fflush(stdout);
	pid = fork();
	if (pid < 0)
		_exit(2);
	if (pid == 0)
		be_with_tables(for_a_moment, ready[1]);
	close(ready[1]);
	CHECK_EQUAL(read(ready[0], sharers, TABLES * sizeof(*sharers)), (ssize_t)(TABLES * sizeof(*sharers)));
	close(ready[0]);
	return pid;
}

// Whichever of the tables it is.
static void of_one_of_many_tables(int which)
{
	pid_t sharers[TABLES], pid = begin_with_tables(false, sharers);
	struct hs_error *error;
	char words[64];

	for (int i = 0; i < TABLES; i++)
		if (i != which)
			kill(sharers[i], SIGKILL);
	for (int i = 0; i < TABLES; i++)
		while (i != which && thread_state(held_process(sharers[i]), sharers[i]) != 'Z')
			nap();
	error = descriptor_sharers_wait(held_process(pid), SHORT_WAIT_MS);
	snprintf(words, sizeof(words), "process %d shares the descriptors of process %d ", (int)sharers[which],
		 (int)pid);
	CHECK(error && error->code == HS_ERROR_REFUSED && strstr(error->message, words));
	hs_error_destroy(error);
	end(pid);
}

static void of_tables_for_a_moment(void)
{
	pid_t sharers[TABLES], pid = begin_with_tables(true, sharers);
	struct hs_error *error = descriptor_sharers_wait(held_process(pid), LONG_WAIT_MS);

	CHECK(!error);
	hs_error_destroy(error);
	end(pid);
}

static bool is_refused(pid_t pid, pid_t tid, const struct strangers *strangers)
{
	struct hs_error *error = descriptor_sharers_check(held_process(pid), tid, strangers);
	const bool refused = error && error->code == HS_ERROR_REFUSED;

	hs_error_destroy(error);
	return refused;
}

// Before a freeze: for the tables that were asked about, only what may share them is opened under it; for others all
// is.
static void of_listed_tables(void)
{
	pid_t sharers[TABLES], pid = begin_with_tables(false, sharers);
	struct strangers of_all, of_main;
	struct descriptor_tables tables;

	CHECK(!descriptor_tables_list(held_process(pid), &tables));
	CHECK_EQUAL(tables.count, TABLES + 1);
	descriptor_strangers_list(held_process(pid), &of_all);
	strangers_list(held_process(pid), NULL, 0, &of_main);
	CHECK(pid_set_has(&of_all.apart, getpid()) && pid_set_has(&of_main.apart, getpid()));
	for (size_t i = 0; i < TABLES; i++) {
		CHECK(!pid_set_has(&of_all.apart, sharers[i]));
		CHECK(pid_set_has(&of_main.apart, sharers[i]));
	}
	for (size_t i = 0; i < tables.count; i++) {
		CHECK(strangers_know(&of_all, tables.tids[i]));
		CHECK_EQUAL(strangers_know(&of_main, tables.tids[i]), tables.tids[i] == pid);
		CHECK_EQUAL(is_refused(pid, tables.tids[i], &of_all), tables.tids[i] != pid);
		CHECK_EQUAL(is_refused(pid, tables.tids[i], &of_main), tables.tids[i] != pid);
	}
	strangers_deinit(&of_all);
	strangers_deinit(&of_main);
	descriptor_tables_deinit(&tables);
	end(pid);
}

// A thread that is about to be gone has no descriptors any more, nor has a process that has ended. What they do not
// have they do not share.
static void ended(void)
{
	const struct strangers none = { 0 };
	const pid_t one = ended_child_start(), other = ended_child_start();
	struct hs_error *error;

	CHECK_EQUAL(descriptor_tables_compare(one, other), 0); // to the kernel they are the same
	error = descriptor_sharers_check(held_process(getpid()), one, &none);
	CHECK(!error);
	if (error)
		fprintf(stderr, "%s\n", error->message);
	hs_error_destroy(error);
	ended_child_reap(one);
	ended_child_reap(other);
}

int main(void)
{
	if (syscall(SYS_kcmp, getpid(), getpid(), KCMP_FILES, 0, 0) != 0) {
		CHECK_LEFT_OUT("no kcmp(2) here");
		return CHECK_RESULT();
	}
	for (int i = 0; i < TABLES; i++)
		of_one_of_many_tables(i);
	of_tables_for_a_moment();
	of_listed_tables();
	ended();
	return CHECK_RESULT();
}
