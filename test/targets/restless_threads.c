// SPDX-License-Identifier: Apache-2.0
// Processes, threads and stacks that come and go. See restless.h.
#include "restless.h"

#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>

extern char **environ;

static void expect_child(pid_t child)
{
	int status;

	EXPECT(child > 0);
	EXPECT(waitpid(child, &status, 0) == child);
	EXPECT(status == 0);
}

static void step_fork(int number)
{
	pid_t child = fork();

	if (child == 0) {
		for (unsigned i = 0; i < 20; i++)
			allocate_and_check(i);
		_exit(0);
	}
	allocate_and_check((unsigned)number);
	expect_child(child);
}

static void step_spawn(int number)
{
	char *arguments[] = { "true", NULL };
	pid_t child = 0;

	EXPECT(posix_spawn(&child, "/bin/true", NULL, NULL, arguments, environ) == 0);
	allocate_and_check((unsigned)number);
	expect_child(child);
}

static void step_vfork(int number)
{
	pid_t child = vfork();

	if (child == 0)
		_exit(0);
	allocate_and_check((unsigned)number);
	expect_child(child);
}

static void *short_life(void *seed)
{
	allocate_and_check((unsigned)(size_t)seed);
	return malloc(40); // freed by another thread
}

static void step_threads(int number)
{
	pthread_t threads[8];
	void *block;

	for (size_t i = 0; i < 8; i++)
		EXPECT(pthread_create(&threads[i], NULL, short_life, (void *)(i + (size_t)number)) == 0);
	for (int i = 0; i < 8; i++) {
		EXPECT(pthread_join(threads[i], &block) == 0 && block);
		free(block);
	}
}

// Most of the 500 sleep at any time.
static void step_crowd(int number)
{
	usleep(100000 + (useconds_t)number * 200);
	allocate_and_check((unsigned)number);
}

static void free_block(void *block) { free(*(void **)block); }

static void *until_cancelled(void *unused)
{
	for (volatile unsigned i = 0;; i++) {
		void *volatile block = malloc(100);

		pthread_cleanup_push(free_block, (void *)&block);
		allocate_and_check(i);
		pthread_testcancel();
		pthread_cleanup_pop(1);
	}
	return unused;
}

static void step_cancel(int number)
{
	pthread_t thread;
	void *result;

	EXPECT(pthread_create(&thread, NULL, until_cancelled, NULL) == 0);
	allocate_and_check((unsigned)number);
	EXPECT(pthread_cancel(thread) == 0);
	EXPECT(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
}

// Two coroutines of each worker, on stacks from malloc, in turns.
struct coroutines {
	ucontext_t outside, inside[2];
	void *stacks[2];
	unsigned rounds;
};
static struct coroutines coroutines[4];

static void coroutine(int number, int which)
{
	struct coroutines *own = &coroutines[number];

	for (;;) {
		allocate_and_check(own->rounds++);
		swapcontext(&own->inside[which], which == 0 ? &own->inside[1] : &own->outside);
	}
}

static void begin_coroutines(int number)
{
	struct coroutines *own = &coroutines[number];

	for (int i = 0; i < 2; i++) {
		own->stacks[i] = malloc(65536);
		EXPECT(own->stacks[i] && getcontext(&own->inside[i]) == 0);
		own->inside[i].uc_stack.ss_sp = own->stacks[i];
		own->inside[i].uc_stack.ss_size = 65536;
		own->inside[i].uc_link = NULL;
		makecontext(&own->inside[i], (void (*)(void))coroutine, 2, number, i);
	}
}

static void step_coroutines(int number)
{
	unsigned before = coroutines[number].rounds;

	EXPECT(swapcontext(&coroutines[number].outside, &coroutines[number].inside[0]) == 0);
	EXPECT(coroutines[number].rounds == before + 2);
}

static void end_coroutines(int number)
{
	free(coroutines[number].stacks[0]);
	free(coroutines[number].stacks[1]);
}

// A timer's handler on another stack allocates; the thread itself only computes.
static atomic_uint handled[2];
static timer_t timers[2];
static void *signal_stacks[2];

static void on_timer(int signal_number, siginfo_t *info, void *context)
{
	int number = info->si_value.sival_int;
	char here;

	(void)signal_number;
	(void)context;
	EXPECT(&here >= (char *)signal_stacks[number] && &here < (char *)signal_stacks[number] + 65536);
	allocate_and_check(atomic_fetch_add(&handled[number], 1));
}

static void prepare_altstack(void)
{
	struct sigaction action = { .sa_sigaction = on_timer, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART };

	sigaction(SIGRTMIN, &action, NULL);
}

static void begin_altstack(int number)
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID,
				  .sigev_signo = SIGRTMIN,
				  .sigev_value.sival_int = number };
	struct itimerspec time = { .it_interval.tv_nsec = 500000, .it_value.tv_nsec = 500000 };
	stack_t stack = { .ss_size = 65536 };

	stack.ss_sp = signal_stacks[number] = malloc(65536);
	EXPECT(sigaltstack(&stack, NULL) == 0);
	event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	EXPECT(timer_create(CLOCK_MONOTONIC, &event, &timers[number]) == 0);
	EXPECT(timer_settime(timers[number], 0, &time, NULL) == 0);
}

static void step_altstack(int number)
{
	volatile double sum = 0;
	unsigned before = atomic_load(&handled[number]);

	while (atomic_load(&handled[number]) == before)
		for (int i = 0; i < 1000; i++)
			sum = sum + i;
	EXPECT(sum > 0 && sum / 499500 == (double)(long)(sum / 499500));
}

static void end_altstack(int number)
{
	stack_t stack = { .ss_flags = SS_DISABLE };

	timer_delete(timers[number]);
	EXPECT(sigaltstack(&stack, NULL) == 0);
	free(signal_stacks[number]);
}

static const struct behaviour behaviours[] = {
	{ "fork", 3, NULL, step_fork, NULL, NULL },
	{ "vfork", 3, NULL, step_vfork, NULL, NULL },
	{ "spawn", 3, NULL, step_spawn, NULL, NULL },
	{ "threads", 3, NULL, step_threads, NULL, NULL },
	{ "crowd", 500, NULL, step_crowd, NULL, NULL },
	{ "cancel", 3, NULL, step_cancel, NULL, NULL },
	{ "coroutines", 3, NULL, step_coroutines, begin_coroutines, end_coroutines },
	{ "altstack", 2, prepare_altstack, step_altstack, begin_altstack, end_altstack },
};

int main(int argc, char **argv)
{
	return restless_main(argc, argv, behaviours, sizeof(behaviours) / sizeof(behaviours[0]));
}
