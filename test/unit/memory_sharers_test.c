// SPDX-License-Identifier: Apache-2.0
// Which processes that share a process's memory are waited for: those that are there when the wait begins, not those
// that come after them.
#include "attach/process/descriptor_sharers.h"
#include "attach/process/memory_sharers.h"
#include "attach/process/sharing.h"
#include "attach/process/thread_facts.h"
#include "check.h"
#include "ended_child.h"
#include "error_check.h"
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

static struct runner {
	char stack[16384] __attribute__((aligned(16)));
	volatile bool runs, ends;
	pid_t parent, pid;
} runners[3];

static void nap(void) { nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL); }

static int run(void *argument)
{
	struct runner *runner = argument;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != runner->parent) // it was killed before this was asked for
		return 0;
	runner->runs = true;
	while (!runner->ends)
		nap();
	return 0;
}

static void begin_runner(struct runner *runner)
{
	runner->runs = runner->ends = false;
	runner->parent = getpid();
	runner->pid = clone(run, runner->stack + sizeof(runner->stack), CLONE_VM | SIGCHLD, runner);
	if (runner->pid < 0)
		_exit(2);
	while (!runner->runs)
		nap();
}

static void end_runner(struct runner *runner)
{
	runner->ends = true;
	waitpid(runner->pid, NULL, 0);
}

// Goes on in a thread of its own, with the descriptors of the process that it shares the memory with; its main thread
// ends.
static int run_in_thread(void *argument)
{
	struct runner *runner = argument;
	static char stack[16384] __attribute__((aligned(16)));

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	clone(run, stack + sizeof(stack), CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD, runner);
	syscall(SYS_exit, 0);
	return 0;
}

enum kind { ALONE, RELAY, RELAY_BESIDE_ONE, ONE_AFTER_ANOTHER, WITHOUT_MAIN_THREAD };

// Two that share the memory for long. The second one stays, and begins while the first one is there; its number is in
// runners[1].
static _Noreturn void be_one_after_another(int ready)
{
	const pid_t none = 0;

	begin_runner(&runners[0]);
	if (write(ready, &none, sizeof(none)) != sizeof(none))
		_exit(2);
	for (int i = 0; i < 30; i++)
		nap();
	begin_runner(&runners[1]);
	for (int i = 0; i < 60; i++)
		nap();
	end_runner(&runners[0]);
	for (;;)
		pause();
}

// A relay: each that shares the memory ends soon, but not before the next one runs, so one is always there. The one
// beside stays. Writes its number.
static _Noreturn void be(enum kind kind, int ready)
{
	struct runner *last = &runners[0], *next = &runners[1];
	pid_t stays = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (kind == ONE_AFTER_ANOTHER)
		be_one_after_another(ready);
	if (kind == WITHOUT_MAIN_THREAD) {
		runners[0].parent = getpid();
		runners[0].pid = clone(run_in_thread, runners[0].stack + sizeof(runners[0].stack),
				       CLONE_VM | CLONE_FILES | SIGCHLD, &runners[0]);
		while (!runners[0].runs || thread_state(held_process(runners[0].pid), runners[0].pid) != 'Z')
			nap();
		if (write(ready, &runners[0].pid, sizeof(runners[0].pid)) != sizeof(runners[0].pid))
			_exit(2);
		for (;;)
			pause();
	}
	if (kind == RELAY_BESIDE_ONE) {
		begin_runner(&runners[2]);
		stays = runners[2].pid;
	}
	if (kind != ALONE)
		begin_runner(last);
	if (write(ready, &stays, sizeof(stays)) != sizeof(stays))
		_exit(2);
	while (kind != ALONE) {
		struct runner *ended = last;

		begin_runner(next);
		end_runner(ended);
		last = next;
		next = ended;
	}
	for (;;)
		pause();
}

static pid_t begin(enum kind kind, pid_t *stays_ret)
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
		be(kind, ready[1]);
	close(ready[1]);
	CHECK_EQUAL(read(ready[0], stays_ret, sizeof(*stays_ret)), sizeof(*stays_ret));
	close(ready[0]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static bool is_shared(pid_t pid)
{
	const struct strangers none = { 0 };
	struct hs_error *error = memory_sharers_check(held_process(pid), pid, &none);
	bool refused = error && error->code == HS_ERROR_REFUSED;

	hs_error_destroy(error);
	return refused;
}

static void alone(void)
{
	pid_t stays, pid = begin(ALONE, &stays);

	CHECK(!is_shared(pid));
	CHECK(!memory_sharers_wait(held_process(pid), LONG_WAIT_MS));
	end(pid);
}

// While it makes no runner and ends none: the one that is listed might else end before it is looked at.
static bool is_shared_while_it_stands(pid_t pid)
{
	bool shared;

	kill(pid, SIGSTOP);
	waitpid(pid, NULL, WUNTRACED);
	shared = is_shared(pid);
	kill(pid, SIGCONT);
	return shared;
}

static void relay(void)
{
	pid_t stays, pid = begin(RELAY, &stays);
	struct hs_error *error;

	CHECK(is_shared_while_it_stands(pid));
	error = memory_sharers_wait(held_process(pid), LONG_WAIT_MS);
	CHECK(!error);
	hs_error_destroy(error);
	CHECK(is_shared_while_it_stands(pid));
	end(pid);
}

static void beside_one_that_stays(void)
{
	pid_t stays, pid = begin(RELAY_BESIDE_ONE, &stays);
	struct hs_error *error = memory_sharers_wait(held_process(pid), SHORT_WAIT_MS);
	char words[64];

	snprintf(words, sizeof(words), "process %d shares the memory of process %d ", (int)stays, (int)pid);
	CHECK(error && error->code == HS_ERROR_REFUSED);
	CHECK(error && strstr(error->message, words));
	hs_error_destroy(error);
	end(pid);
}

// One that has been there for as long as another was waited for is waited for as well.
static void one_after_another(void)
{
	pid_t none, pid = begin(ONE_AFTER_ANOTHER, &none);
	struct hs_error *error = memory_sharers_wait(held_process(pid), 2500);

	CHECK(error && error->code == HS_ERROR_REFUSED);
	CHECK(is_shared(pid));
	hs_error_destroy(error);
	end(pid);
}

// The target's own main thread has ended: what shares nothing with it is known all the same.
static void with_target_without_main_thread(pid_t target, pid_t sharer)
{
	const pid_t live = process_live_thread(held_process(target));
	struct strangers strangers;

	CHECK(live != target);
	descriptor_strangers_list(held_process(target), &strangers);
	CHECK(pid_set_has(&strangers.apart, getpid()) && !pid_set_has(&strangers.apart, sharer));
	CHECK(strangers_know(&strangers, live) && !pid_set_has(&strangers.untold, sharer));
	CHECK(is_refused(memory_sharers_check(held_process(target), live, &strangers)));
	CHECK(is_refused(descriptor_sharers_check(held_process(target), live, &strangers)));
	strangers_deinit(&strangers);
}

// A process whose main thread has ended shares what its other threads have.
static void without_main_thread(void)
{
	struct strangers strangers, none = { 0 };
	pid_t sharer, pid = begin(WITHOUT_MAIN_THREAD, &sharer);
	struct hs_error *error;

	CHECK(is_shared(pid));
	strangers_list(held_process(pid), NULL, 0, &strangers);
	CHECK(!pid_set_has(&strangers.apart, sharer) && !pid_set_has(&strangers.untold, sharer));
	CHECK(pid_set_has(&strangers.apart, getpid()) && !pid_set_has(&strangers.untold, getpid()));
	strangers_deinit(&strangers);
	with_target_without_main_thread(sharer, pid);
	error = descriptor_sharers_check(held_process(pid), pid, &none);
	CHECK(error && error->code == HS_ERROR_REFUSED);
	hs_error_destroy(error);
	error = descriptor_sharers_wait(held_process(pid), SHORT_WAIT_MS);
	CHECK(error && error->code == HS_ERROR_REFUSED);
	hs_error_destroy(error);
	error = memory_sharers_wait(held_process(pid), SHORT_WAIT_MS);
	CHECK(error && error->code == HS_ERROR_REFUSED);
	hs_error_destroy(error);
	kill(sharer, SIGKILL);
	CHECK(!memory_sharers_wait(held_process(pid), LONG_WAIT_MS));
	end(pid);
}

// A process that has ended has no memory any more, as kernel threads have none: to the kernel that is the same one.
static void ended(void)
{
	const struct strangers none = { 0 };
	const pid_t one = ended_child_start(), other = ended_child_start();
	struct hs_error *error;

	CHECK_EQUAL(sharing_compare_memory(one, other), 0);
	error = memory_sharers_check(held_process(getpid()), one, &none);
	CHECK(!error);
	hs_error_destroy(error);
	ended_child_reap(one);
	ended_child_reap(other);
}

int main(void)
{
	if (syscall(SYS_kcmp, getpid(), getpid(), KCMP_VM, 0, 0) != 0) {
		CHECK_LEFT_OUT("no kcmp(2) here");
		return CHECK_RESULT();
	}
	alone();
	relay();
	beside_one_that_stays();
	one_after_another();
	without_main_thread();
	ended();
	return CHECK_RESULT();
}
