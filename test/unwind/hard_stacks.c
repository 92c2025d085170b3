// SPDX-License-Identifier: Apache-2.0
// Stacks with frames that real programs seldom have: realigned ones, whose canonical frame address is in memory;
// variable ones, found by rbp only; those under a signal handler that interrupted any of them; a call as the last
// instruction of its function; and stacks that differ in nothing but rbp from others whose words still lie about.
// Prints "ready", ends when its input ends.
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/time.h>
#include <unistd.h>

enum { THREADS = 2, DEPTH_MAX = 40 };

static atomic_bool ending;
static volatile unsigned sink;

static unsigned descend(unsigned depth, unsigned seed);

__attribute__((noinline)) static void work(unsigned rounds)
{
	for (unsigned i = 0; i < rounds; i++)
		sink = sink * 1664525u + i;
}

__attribute__((noinline)) static unsigned plain(unsigned depth, unsigned seed)
{
	return descend(depth - 1, seed) + seed;
}

__attribute__((noinline)) static unsigned variable(unsigned depth, unsigned seed)
{
	volatile uint8_t *bytes = alloca(seed % 500 + 1);

	bytes[0] = (uint8_t)depth;
	return descend(depth - 1, seed) + bytes[0];
}

// 32 bytes of alignment and a variable size make gcc keep the caller's stack pointer in the frame.
__attribute__((noinline)) static unsigned realigned(unsigned depth, unsigned seed)
{
	_Alignas(32) volatile uint8_t aligned[64];
	volatile uint8_t *bytes = alloca(seed % 300 + 1);

	aligned[seed % 64] = bytes[0] = (uint8_t)seed;
	return descend(depth - 1, seed) + aligned[seed % 64];
}

__attribute__((noinline)) static unsigned descend(unsigned depth, unsigned seed)
{
	static unsigned (*const kinds[])(unsigned, unsigned) = { plain, variable, realigned };

	work(200);
	return depth ? kinds[seed % 3](depth, seed * 1664525u + 1013904223u) + 1 : seed;
}

static void handle(int number)
{
	sink = descend(6, (unsigned)number + sink) ^ sink;
	work(100000);
}

static void *run(void *argument)
{
	for (unsigned seed = (unsigned)(uintptr_t)argument; !ending; seed = seed * 22695477u + 1)
		sink = descend((seed >> 16) % DEPTH_MAX, seed >> 8);
	return NULL;
}

// The return address is the first byte after the function.
__attribute__((noinline, noreturn)) static void work_for_ever(unsigned seed)
{
	for (;; seed++)
		sink = descend(3, seed);
}

__attribute__((noinline, noreturn)) static void call_at_the_end(unsigned seed)
{
	volatile uint8_t bytes[40];

	bytes[seed % 40] = (uint8_t)seed;
	work_for_ever(seed + bytes[seed % 40]);
}

static void *run_without_return(void *unused)
{
	(void)unused;
	call_at_the_end(1);
}

// Its caller's rbp is in memory only.
__attribute__((noinline)) static unsigned hide_rbp(unsigned seed)
{
	__asm__ volatile("xorl %%ebp, %%ebp" ::: "rbp");
	work(300);
	__asm__ volatile("" ::: "memory");
	return seed;
}

__attribute__((noinline)) static unsigned keep_rbp(unsigned seed)
{
	work(300);
	__asm__ volatile("" ::: "memory");
	return seed;
}

enum { ROOM = 512 };

__attribute__((noinline)) static unsigned inner(unsigned room, unsigned seed)
{
	volatile uint8_t *bytes = alloca(room);

	bytes[0] = (uint8_t)seed;
	return (seed & 1 ? hide_rbp(seed) : keep_rbp(seed)) + bytes[0];
}

// Two functions that are alike but for the room that they take above inner, which takes the rest: below it, every stack
// pointer is the same, and the return address to the one still lies where the other has it not.
#define OUTER(name, room)                                                                                              \
	__attribute__((noinline)) static unsigned name(unsigned seed)                                                  \
	{                                                                                                              \
		volatile unsigned size = room;                                                                         \
		volatile uint8_t *bytes = alloca(size);                                                                \
                                                                                                                       \
		bytes[0] = (uint8_t)seed;                                                                              \
		return inner(ROOM - size, seed) + bytes[0];                                                            \
	}
OUTER(outer_near, 32)
OUTER(outer_far, 256)

static void *run_in_the_same_places(void *unused)
{
	for (unsigned seed = 1; !ending; seed = seed * 22695477u + 1)
		sink = (seed >> 20 & 1 ? outer_near : outer_far)(seed >> 18);
	return unused;
}

static void *wait_for_end(void *unused)
{
	char byte;
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	while (read(0, &byte, 1) > 0)
		;
	ending = 1;
	return unused;
}

int main(void)
{
	struct sigaction action = { .sa_handler = handle, .sa_flags = SA_RESTART };
	struct itimerval interval = { .it_interval.tv_usec = 1000, .it_value.tv_usec = 1000 };
	pthread_t threads[THREADS], waiter, same_places, without_return;

	pthread_create(&waiter, NULL, wait_for_end, NULL);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, run, (void *)(i + 1));
	pthread_create(&same_places, NULL, run_in_the_same_places, NULL);
	pthread_create(&without_return, NULL, run_without_return, NULL);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &interval, NULL);
	puts("ready");
	fflush(stdout);
	run(NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_join(same_places, NULL);
	pthread_join(waiter, NULL);
	return 0;
}
