// SPDX-License-Identifier: Apache-2.0
// Integer and vector floating point sums that must come out the same each time. Arguments: threads, and "altstack" to
// work with an alternate signal stack, whose setting and the signal mask are checked at the end.
#include "ptrace_target.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef double vector __attribute__((vector_size(64)));

static atomic_bool ending, wrong;
static atomic_ulong rounds;
static int with_altstack;

// In the widest registers that the processor has. The barrier: computed anew each time, not once before the loop.
__attribute__((noinline, target_clones("avx512f", "avx2", "default"))) uint64_t sum_once(void);
uint64_t sum_once(void)
{
	vector a = { 1, 2, 3, 4, 5, 6, 7, 8 }, b = { .1, .2, .3, .4, .5, .6, .7, .8 };
	uint64_t hash = 0x9e3779b97f4a7c15, bits;
	long double x87 = 1.0L;
	double total = 0;

	__asm__ volatile("" ::: "memory");
	for (int i = 1; i < 4000; i++) {
		a = a * 1.0000001 + b;
		b = b * 0.999 + a / 3.0;
		x87 = x87 * 1.0001L + (long double)i;
		hash = (hash << 7 | hash >> 57) * 0x100000001b3 + (uint64_t)i;
	}
	for (int i = 0; i < 8; i++)
		total += a[i] * b[i];
	total += (double)x87;
	memcpy(&bits, &total, sizeof(bits));
	return hash ^ bits;
}

static void *compute(void *unused)
{
	static _Thread_local char stack[65536];
	stack_t alternate = { .ss_sp = stack, .ss_size = sizeof(stack) }, now;
	sigset_t mask, mask_now;
	uint64_t expected;

	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR2);
	sigaddset(&mask, SIGRTMIN + 3);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	if (with_altstack)
		sigaltstack(&alternate, NULL);
	expected = sum_once();
	do {
		if (sum_once() != expected)
			wrong = 1;
		rounds++;
	} while (!ending);
	pthread_sigmask(SIG_SETMASK, NULL, &mask_now);
	for (int i = 1; i < 65; i++) {
		if (sigismember(&mask, i) != sigismember(&mask_now, i))
			wrong = 1;
	}
	sigaltstack(NULL, &now);
	if (with_altstack ? now.ss_sp != stack || now.ss_size != sizeof(stack) || now.ss_flags != 0
			  : now.ss_flags != SS_DISABLE)
		wrong = 1;
	return unused;
}

static void *wait_for_end(void *unused)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	target_ready();
	target_wait_for_end();
	ending = 1;
	return unused;
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t threads[64], waiter;

	with_altstack = argc > 2 && strcmp(argv[2], "altstack") == 0;
	pthread_create(&waiter, NULL, wait_for_end, NULL);
	for (int i = 1; i < count && i < 64; i++)
		pthread_create(&threads[i], NULL, compute, NULL);
	compute(NULL);
	for (int i = 1; i < count && i < 64; i++)
		pthread_join(threads[i], NULL);
	pthread_join(waiter, NULL);
	printf("%lu rounds\n", (unsigned long)rounds);
	return wrong;
}
