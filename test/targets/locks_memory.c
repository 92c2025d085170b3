// SPDX-License-Identifier: Apache-2.0
// Locks its memory when told to, while two threads allocate. usage: locks_memory [USER-ID]
// It takes little address space, all of which counts for RLIMIT_MEMLOCK: one arena, small stacks.
// Commands on standard input, each with one line of answer: "lock" and "lock what is touched" call mlockall for what is
// mapped, "lock the future" for what will be as well, "unlock" munlockall, "limit" sets the soft RLIMIT_MEMLOCK a
// megabyte above the address space in use: "0", or the name of what went wrong. "work": "right" once each thread has
// come further twice, unless a block has lost what was written into it. "keep" leaves KEPT blocks of KEPT_SIZE bytes.
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "commands.h"

enum { THREADS = 2, BLOCKS = 40, KEPT = 100, KEPT_SIZE = 1000, PAGE = 4096, STACK = 128 << 10, SPARE = 1 << 20 };

static atomic_ulong rounds[THREADS];
static atomic_bool wrong;

__attribute__((noipa)) void *locks_memory_keep(size_t size)
{
	void *block = malloc(size);

	__asm__ volatile("" ::: "memory"); // no tail call
	return block;
}

static void *allocate(void *argument)
{
	atomic_ulong *round = argument;
	unsigned char *blocks[BLOCKS];

	for (;;) {
		for (unsigned i = 0; i < BLOCKS; i++) {
			blocks[i] = malloc(16 + 40 * i);
			if (blocks[i])
				memset(blocks[i], (int)i, 16 + 40 * i);
		}
		for (unsigned i = 0; i < BLOCKS; i++) {
			for (unsigned at = 0; blocks[i] && at < 16 + 40 * i; at++)
				wrong = wrong || blocks[i][at] != i;
			wrong = wrong || !blocks[i];
			free(blocks[i]);
		}
		*round += 1;
		usleep(200);
	}
	return NULL;
}

static const char *work(void)
{
	for (int i = 0; i < THREADS; i++)
		for (unsigned long before = rounds[i]; rounds[i] < before + 2;)
			usleep(100);
	return wrong ? "wrong" : "right";
}

static const char *outcome(int result) { return result == 0 ? "0" : strerrorname_np(errno); }

static const char *limit(void)
{
	struct rlimit limit;
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	if (!file || fscanf(file, "%lu", &pages) != 1 || getrlimit(RLIMIT_MEMLOCK, &limit))
		return "cannot read it";
	fclose(file);
	limit.rlim_cur = pages * PAGE + SPARE;
	return outcome(setrlimit(RLIMIT_MEMLOCK, &limit));
}

static const char *answer(const char *command)
{
	bool right = true;

	if (strcmp(command, "lock") == 0)
		return outcome(mlockall(MCL_CURRENT));
	if (strcmp(command, "lock what is touched") == 0)
		return outcome(mlockall(MCL_CURRENT | MCL_ONFAULT));
	if (strcmp(command, "lock the future") == 0)
		return outcome(mlockall(MCL_CURRENT | MCL_FUTURE));
	if (strcmp(command, "unlock") == 0)
		return outcome(munlockall());
	if (strcmp(command, "limit") == 0)
		return limit();
	if (strcmp(command, "work") == 0)
		return work();
	for (int i = 0; i < KEPT; i++)
		right &= locks_memory_keep(KEPT_SIZE) != NULL;
	return right ? "kept" : "wrong";
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	pthread_attr_t attributes;
	const char *command;
	unsigned id;

	if (argc > 1) {
		id = (unsigned)strtoul(argv[1], NULL, 10);
		if (setresgid(id, id, id) || setresuid(id, id, id) || prctl(PR_SET_DUMPABLE, 1))
			return 2;
	}
	mallopt(M_ARENA_MAX, 1);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], &attributes, allocate, &rounds[i]))
			return 2;
	work();
	say_ready();
	while ((command = next_command()))
		puts(answer(command));
	return wrong;
}
