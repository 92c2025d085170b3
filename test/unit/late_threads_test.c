// SPDX-License-Identifier: Apache-2.0
// Which threads may still have a call to make for a tool that was killed: by the texts of the kernel, and on live
// processes.
#include "attach/process/pid_set.h"
#include "attach/ptrace/late_threads.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/proc_status.h"
#include "check.h"
#include "held_process.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ALL "SigBlk:\tfffffffffffbfeff\n"

static void judge(void)
{
	static const struct {
		const char *status, *syscall;
		enum late_thread judged;
		uint64_t stack;
	} cases[] = {
		{ "Name:\ta\nState:\tR (running)\n" ALL, "running\n", LATE_THREAD_RUNS, 0 },
		{ "Name:\ta\nState:\tS (sleeping)\n" ALL, "9 0x0 0x1 0x2 0x3 0x4 0x5 0x7ffd1000 0x7f0000001234\n",
		  LATE_THREAD_WAITS, 0x7ffd1000 },
		{ "Name:\ta\nState:\tt (tracing stop)\n" ALL, "-1 0x7ffd1000 0x7f0000001234\n", LATE_THREAD_WAITS,
		  0x7ffd1000 },
		{ "Name:\ta\nState:\tD (disk sleep)\n" ALL, "-1 0x7ffd1000 0x7f0000001234", LATE_THREAD_WAITS,
		  0x7ffd1000 },
		// Its call is made.
		{ "Name:\ta\nState:\tT (stopped)\n" ALL, "-1 0x7ffd1000 0x7f0000001234\n", LATE_THREAD_NONE, 0 },
		{ "Name:\ta\nState:\tZ (zombie)\n" ALL, "0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0\n", LATE_THREAD_NONE, 0 },
		// One signal is free: the two that the C library keeps for itself, for one.
		{ "Name:\ta\nState:\tR (running)\nSigBlk:\tfffffffe7ffbfeff\n", "running\n", LATE_THREAD_NONE, 0 },
		{ "Name:\ta\nState:\tR (running)\nSigBlk:\t0000000000000000\n", "running\n", LATE_THREAD_NONE, 0 },
		{ "Name:\ta\nState:\tR (running)\n", "running\n", LATE_THREAD_NONE, 0 },
		// What cannot be understood.
		{ "Name:\ta\nState:\tS (sleeping)\n" ALL, "", LATE_THREAD_NONE, 0 },
		{ "Name:\ta\nState:\tS (sleeping)\n" ALL, "nonsense\n", LATE_THREAD_NONE, 0 },
		// A name is no line of its own.
		{ "Name:\tSigBlk: fffffffffffbfeff\nState:\tR (running)\nSigBlk:\t0000000000000000\n", "running\n",
		  LATE_THREAD_NONE, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t stack = 1;

		CHECK_EQUAL(late_thread_judge(cases[i].status, cases[i].syscall, &stack), cases[i].judged);
		CHECK_EQUAL(stack, cases[i].stack);
	}
}

// The head of a frame of ours, as sigframe.c has it: restorer, flags, link, and an alternate stack that cannot be.
struct frame_head {
	uint64_t below[3];
	uint64_t restorer, flags, link, stack_base;
	uint32_t stack_flags, stack_padding;
	uint64_t stack_size, context[32];
};

// Sleeps for ever with its stack pointer there, as in a call of ours.
static _Noreturn void sleep_at(const struct frame_head *frame, size_t words_below)
{
	const uint64_t *stack = &frame->restorer - words_below;

	__asm__ volatile("mov %0, %%rsp\n"
			 "1: mov %1, %%eax\n"
			 "syscall\n"
			 "jmp 1b\n"
			 :
			 : "r"(stack), "i"(SYS_pause)
			 : "memory", "rax", "rcx", "r11");
	__builtin_unreachable();
}

enum kind { FREE, SLEEPS, SPINS, SPINS_THERE, MANY_SPIN, AT_FRAME, ABOVE_WORDS, ELSEWHERE };

// On one processor each of so many needs MANY * 20 ms for what decides about it. All together need no more; one after
// the other, each looked at from then on, need MANY times as long, 11.5 s. The wait is long for a busy machine.
enum { MANY = 24 };
#define MANY_WAIT_NS UINT64_C(7000000000)

static int there; // a processor

// Until it is killed.
static _Noreturn void *spin(void *unused)
{
	const uint64_t all = UINT64_MAX;

	(void)unused;
	// the C library lets a new thread have the signals of its own
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof(all));
	for (;;) {
	}
}

static _Noreturn void be(enum kind kind, pid_t parent)
{
	static struct frame_head frame = { .restorer = 1, .flags = 7, .stack_flags = 3 };
	const uint64_t all = UINT64_MAX, none = 0;
	pthread_t thread;
	cpu_set_t one;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) // it was killed before this was asked for
		_exit(1);
	CPU_ZERO(&one);
	CPU_SET((size_t)(kind == SPINS_THERE ? there : sched_getcpu()), &one);
	if ((kind == MANY_SPIN || kind == SPINS_THERE) && sched_setaffinity(0, sizeof(one), &one) != 0)
		_exit(1);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, kind == FREE ? &none : &all, NULL, sizeof(all));
	switch (kind) {
	case MANY_SPIN:
		for (int i = 1; i < MANY; i++)
			if (pthread_create(&thread, NULL, spin, NULL))
				_exit(1);
		spin(NULL);
	case SPINS:
	case SPINS_THERE:
		spin(NULL);
	case AT_FRAME:
		sleep_at(&frame, 0);
	case ABOVE_WORDS:
		sleep_at(&frame, 2);
	case ELSEWHERE:
		sleep_at(&frame, 3);
	default:
		for (;;)
			pause();
	}
}

// How long the thread has had a processor, ns.
static uint64_t processor_time(pid_t pid, pid_t tid)
{
	HS_CLEANUP_FREE char *text = NULL;
	struct hs_error *error = process_read_task_file(held_process(pid), tid, "schedstat", &text, NULL);

	hs_error_destroy(error);
	return error ? 0 : strtoull(text, NULL, 10);
}

struct child {
	pid_t pid;
	enum kind kind;
};

// The thread has its signal mask, and sleeps if it is to sleep. Of one that spins the kernel also tells how long it has
// had a processor: not before its first tick.
static bool is_so_far(pid_t tid, const void *context)
{
	const struct child *child = context;
	const bool spins = child->kind == SPINS || child->kind == SPINS_THERE || child->kind == MANY_SPIN;
	const uint64_t blocked = child->kind == FREE ? 0 : UINT64_C(0xfffffffffffbfeff);
	HS_CLEANUP_FREE char *status = NULL;
	struct hs_error *error = process_read_task_file(held_process(child->pid), tid, "status", &status, NULL);

	hs_error_destroy(error);
	return !error && proc_status_number(status, "SigBlk:", 16, 1) == blocked &&
	       (spins ? processor_time(child->pid, tid) > 0 : proc_status_state(status) == 'S');
}

static pid_t begin(enum kind kind)
{
	const pid_t parent = getpid();
	const size_t wanted = kind == MANY_SPIN ? MANY : 1;
	struct child child = { .kind = kind };
	size_t so_far = 0;

	fflush(stdout);
	child.pid = fork();
	if (child.pid < 0)
		exit(2); // kill(-1) would end every process
	if (child.pid == 0)
		be(kind, parent);
	while (so_far < wanted) {
		struct pid_set threads;

		usleep(1000);
		if (waitpid(child.pid, NULL, WNOHANG) != 0) // it has given up
			exit(2);
		thread_set_list(held_process(child.pid), is_so_far, &child, &threads);
		so_far = threads.count;
		pid_set_deinit(&threads);
	}
	return child.pid;
}

static void end(pid_t pid)
{
	struct late_call late;

	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	late_threads_wait(held_process(pid), &late);
	CHECK_EQUAL(late.tid, 0);
}

// Whether it has a call to make is known at the first look. The wait for none has no end if it waits for anything.
static void not_late_at_once(enum kind kind, bool is_stopped)
{
	pid_t pid = begin(kind);
	struct late_search *search = NULL;
	struct late_call late;

	if (is_stopped) {
		kill(pid, SIGSTOP);
		waitpid(pid, NULL, WUNTRACED);
	}
	CHECK(late_search_begin(held_process(pid), &search) == NULL);
	CHECK(late_search_is_over(search));
	late_searches_wait(&search, 1, UINT64_MAX);
	late_search_end(search, &late);
	CHECK_EQUAL(late.tid, 0);
	CHECK(!late.is_certain);
	end(pid);
}

static void late_to_the_end(enum kind kind)
{
	pid_t pid = begin(kind);
	struct late_call late;
	uint64_t began = hs_monotonic_ns();

	late_threads_wait(held_process(pid), &late);
	began = (hs_monotonic_ns() - began) / 1000000;
	CHECK_EQUAL(late.tid, pid);
	CHECK(late.is_certain);
	CHECK(began >= 2900);
	CHECK(began <= 10000);
	end(pid);
}

// To try again, without a limit: on a busy machine a thread may get no processor for any time. What waits for one after
// the other is ended by CTest.
static bool is_undecided(const struct late_call *late)
{
	if (late->tid)
		fprintf(stderr, "tried again: thread %d had too little of a processor\n", (int)late->tid);
	return late->tid;
}

// It is waited for until it has had a processor for so long that it must have made its call. On a busy machine that
// takes any time.
static void spins(void)
{
	pid_t pid = begin(SPINS);
	const uint64_t before = processor_time(pid, pid);
	struct late_call late;

	do
		late_threads_wait(held_process(pid), &late);
	while (is_undecided(&late));
	CHECK(!late.is_certain);
	CHECK(processor_time(pid, pid) >= before + 20000000);
	end(pid);
}

// They are waited for together.
static void many_at_once(void)
{
	pid_t pid = begin(MANY_SPIN);
	struct late_search *search = NULL;
	struct late_call late;

	do {
		CHECK(late_search_begin(held_process(pid), &search) == NULL);
		late_searches_wait(&search, 1, hs_monotonic_ns() + MANY_WAIT_NS);
		late_search_end(search, &late);
	} while (is_undecided(&late));
	end(pid);
}

// So are those of several processes: each has had its time of a processor while the others are waited for.
static void several_processes_at_once(void)
{
	struct late_search *searches[MANY] = { 0 };
	struct process processes[MANY];
	pid_t pids[MANY];
	struct late_call late;

	there = sched_getcpu();
	for (int i = 0; i < MANY; i++) {
		pids[i] = begin(SPINS_THERE);
		CHECK(process_open(pids[i], &processes[i]) == NULL);
	}
	do {
		pid_t undecided = 0;

		for (int i = 0; i < MANY; i++)
			CHECK(late_search_begin(&processes[i], &searches[i]) == NULL);
		late_searches_wait(searches, MANY, hs_monotonic_ns() + MANY_WAIT_NS);
		for (int i = 0; i < MANY; i++) {
			late_search_end(searches[i], &late);
			undecided = late.tid ? late.tid : undecided;
		}
		late.tid = undecided;
	} while (is_undecided(&late));
	for (int i = 0; i < MANY; i++) {
		process_close(&processes[i]);
		end(pids[i]);
	}
}

// There was no time to find out: the thread is told, and that nothing is known of it.
static void undecided(void)
{
	pid_t pid = begin(MANY_SPIN);
	struct late_call late;

	setenv("HEAPSNAP_LATE_WAIT_MS", "0", 1);
	late_threads_wait(held_process(pid), &late);
	CHECK(late.tid > 0);
	CHECK(!late.is_certain);
	unsetenv("HEAPSNAP_LATE_WAIT_MS");
	end(pid);
}

int main(void)
{
	judge();
	not_late_at_once(FREE, false);
	not_late_at_once(SLEEPS, false);
	spins();
	many_at_once();
	several_processes_at_once();
	undecided();
	late_to_the_end(AT_FRAME);
	late_to_the_end(ABOVE_WORDS);
	not_late_at_once(ELSEWHERE, false);
	not_late_at_once(AT_FRAME, true);
	return CHECK_RESULT();
}
