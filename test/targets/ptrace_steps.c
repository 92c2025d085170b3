// SPDX-License-Identifier: Apache-2.0
// Programs whose flags register makes the processor raise a signal: each steps itself with the trap flag, its own
// SIGTRAP handler counting, or checks alignment. Status 1 when a handler, the flags or a result is lost. The arguments
// say what the threads do, the last one the main thread.
#include "ptrace_target.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#define FLAG_TRAP      UINT64_C(0x100)
#define FLAG_DIRECTION UINT64_C(0x400)
#define FLAG_ALIGNMENT UINT64_C(0x40000)

static atomic_bool ending, wrong;
static bool may_end_early; // a sleep, when a tool is killed
static atomic_int standing;
static _Thread_local volatile unsigned long steps;

static void on_trap(int signal)
{
	(void)signal;
	steps++;
}

static void fail(const char *what)
{
	fprintf(stderr, "%s\n", what);
	wrong = 1;
}

static uint64_t flags(void) { return __builtin_ia32_readeflags_u64(); }

// Under the flags a call of 20 ms, by an instruction of its own: no libc code runs with them.
static void sleep_with(uint64_t set)
{
	struct timespec time = { .tv_nsec = 20000000 }, rest;
	long number = SYS_nanosleep;
	uint64_t before = flags(), during;

	__asm__ volatile(
		"sub $128, %%rsp\n\tpush %[with]\n\tpopfq\n\tsyscall\n\tpushfq\n\tpop %[during]\n\tpush %[before]\n\tpopfq\n\tadd $128, %%rsp"
		: "+a"(number), [during] "=&r"(during)
		: [with] "r"(before | set), [before] "r"(before), "D"(&time), "S"(&rest)
		: "rcx", "r11", "memory", "cc");
	if (number != 0 && !may_end_early)
		fail("a sleep ended early");
	if ((during & set) != set)
		fail("a flag was lost in a call");
}

// Under the flags a loop.
static void compute_with(uint64_t set)
{
	uint64_t before = flags(), during, count = 20000, sum = 0;

	__asm__ volatile(
		"sub $128, %%rsp\n\tpush %[with]\n\tpopfq\n1:\tadd %[count], %[sum]\n\tdec %[count]\n\tjnz 1b\n\tpushfq\n\tpop %[during]\n\t"
		"push %[before]\n\tpopfq\n\tadd $128, %%rsp"
		: [count] "+r"(count), [sum] "+r"(sum), [during] "=&r"(during)
		: [with] "r"(before | set), [before] "r"(before)
		: "memory", "cc");
	if (sum != UINT64_C(20000) * 20001 / 2)
		fail("a wrong sum");
	if ((during & set) != set)
		fail("a flag was lost in a loop");
}

static void *work(void *argument)
{
	const char *kind = argument;
	uint64_t set = strstr(kind, "trap") ? FLAG_TRAP : strstr(kind, "aligned") ? FLAG_ALIGNMENT : FLAG_DIRECTION;
	void (*round)(uint64_t) = strstr(kind, "sleep") ? sleep_with : compute_with;
	unsigned long before;

	round(set);
	standing++;
	do {
		before = steps;
		round(set);
		if (set == FLAG_TRAP && steps - before < 2)
			fail("a step without its signal");
	} while (!ending);
	return NULL;
}

static void *wait_for_end(void *count)
{
	while (standing < (int)(intptr_t)count)
		usleep(1000);
	target_ready();
	target_wait_for_end();
	ending = 1;
	return NULL;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_trap }, now;
	pthread_t threads[16], waiter;
	int count = 0;

	if (argc < 2 || argc > 16)
		return 2;
	may_end_early = strstr(argv[argc - 1], "early") != NULL;
	sigaction(SIGTRAP, &action, NULL);
	pthread_create(&waiter, NULL, wait_for_end, (void *)(intptr_t)(argc - 1));
	for (int i = 1; i < argc - 1; i++)
		pthread_create(&threads[count++], NULL, work, argv[i]);
	work(argv[argc - 1]);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	pthread_join(waiter, NULL);
	sigaction(SIGTRAP, NULL, &now);
	if (now.sa_handler != on_trap)
		fail("the handler is gone");
	return wrong;
}
