// SPDX-License-Identifier: Apache-2.0
// Processes that share this one's memory without being its threads. The addresses are not randomized, where that is
// allowed: a process that executes this program once more then has the same mappings. Commands on standard input:
//   "share"      starts one that counts, and prints its id
//   "count"      how far it has counted
//   "end"        ends it
//   "share until exec"  starts one that waits until it is to execute this program, and prints its id
//   "exec"       has it do so: it goes on to allocate and free
//   "begin anew" executes this program
//   "block"      a thread calls take_block, and stays there; prints "blocks"
//   "drop code"  has the pages around malloc mapped no more, until they are touched
//   "relay"      starts threads that vfork all the time, so that a child of one of them is always there
//   "end relay"  ends them
//   "vfork"      starts a child that its thread waits for until it is told to go on by a byte on the pipe
//   "go on"      tells it
//   "work"       allocates, checks and frees
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "jump_out.h"

#define FUNCTION __attribute__((noipa, no_stack_protector)) // called as if it were elsewhere

static char stack[65536] __attribute__((aligned(16)));
static volatile unsigned long counter;
static int go_on[2];

static int count(void *unused)
{
	(void)unused;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		counter++;
	return 0;
}

static char *own_name;
static volatile int is_to_exec;

static void begin_anew(const char *as)
{
	execl("/proc/self/exe", own_name, as, NULL);
	_exit(9);
}

static int wait_to_exec(void *unused)
{
	const struct timespec nap = { .tv_nsec = 1000000 };

	(void)unused;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (!is_to_exec)
		nanosleep(&nap, NULL);
	begin_anew("works");
	return 0;
}

static pid_t share_until_exec(void)
{
	is_to_exec = 0;
	return clone(wait_to_exec, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL);
}

static int drop_code(void)
{
	return madvise((void *)((uintptr_t)malloc & ~(uintptr_t)0x3fff), 0x4000, MADV_DONTNEED) == 0;
}

FUNCTION static void *stay(size_t size)
{
	puts("blocks");
	for (;;)
		pause();
	return stack + size;
}

FUNCTION void *take_block(size_t size) { return jump_out(stay(size)); }

FUNCTION void give_block(void *block) { *(void *volatile *)&block = block; }

static void *take(void *unused)
{
	give_block(take_block(100));
	return unused;
}

// Runs in the child, which has the parent's memory: system calls only.
static void *wait_in_vfork(void *unused)
{
	pid_t child = vfork();
	char byte;

	if (child == 0)
		_exit(read(go_on[0], &byte, 1) == 1 ? 0 : 1);
	waitpid(child, NULL, 0);
	return unused;
}

enum { RUNNERS = 4, NAPS_MAX = 50 };

static pthread_t runners[RUNNERS];
static volatile int is_relay;
static unsigned long begun;

// In the child: until the next has begun. If nothing begins one any more, because all threads stand, it ends all the
// same.
static void take_turn(void)
{
	const struct timespec nap = { .tv_nsec = 1000000 };
	unsigned long own = __atomic_add_fetch(&begun, 1, __ATOMIC_SEQ_CST);

	for (int i = 0; i < NAPS_MAX && is_relay && __atomic_load_n(&begun, __ATOMIC_SEQ_CST) == own; i++)
		nanosleep(&nap, NULL);
}

static void *run_relay(void *unused)
{
	while (is_relay) {
		pid_t child = vfork();

		if (child == 0) {
			take_turn();
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
	return unused;
}

static int begin_relay(void)
{
	is_relay = 1;
	for (int i = 0; i < RUNNERS; i++)
		if (pthread_create(&runners[i], NULL, run_relay, NULL))
			return 0;
	while (__atomic_load_n(&begun, __ATOMIC_SEQ_CST) < RUNNERS)
		usleep(1000);
	return 1;
}

static void end_relay(void)
{
	is_relay = 0;
	for (int i = 0; i < RUNNERS; i++)
		pthread_join(runners[i], NULL);
	begun = 0;
}

static __attribute__((noipa)) int work(void)
{
	static char *blocks[1000];

	for (int i = 0; i < 1000; i++) {
		blocks[i] = malloc(16 + (size_t)i);
		memset(blocks[i], i, 16);
	}
	for (int i = 0; i < 1000; i++) {
		if (blocks[i][15] != (char)i)
			return 0;
		free(blocks[i]);
	}
	return 1;
}

int main(int argc, char **argv)
{
	char line[64];
	pthread_t thread;
	pid_t other = 0;

	own_name = argv[0];
	if (argc == 1 && personality(ADDR_NO_RANDOMIZE) != -1)
		begin_anew("commands");
	while (argc > 1 && strcmp(argv[1], "works") == 0) {
		if (!work())
			return 3;
		usleep(1000);
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (pipe(go_on))
		return 2;
	puts("ready");
	while (fgets(line, sizeof(line), stdin)) {
		if (strcmp(line, "share\n") == 0) {
			other = clone(count, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL);
			printf("%d\n", (int)other);
		} else if (strcmp(line, "share until exec\n") == 0) {
			other = share_until_exec();
			printf("%d\n", (int)other);
		} else if (strcmp(line, "exec\n") == 0) {
			is_to_exec = 1;
			puts("told");
		} else if (strcmp(line, "block\n") == 0) {
			if (pthread_create(&thread, NULL, take, NULL))
				puts("no thread");
		} else if (strcmp(line, "drop code\n") == 0) {
			puts(drop_code() ? "dropped" : "not dropped");
		} else if (strcmp(line, "begin anew\n") == 0) {
			begin_anew("commands");
		} else if (strcmp(line, "end\n") == 0) {
			kill(other, SIGKILL);
			printf("%s\n", waitpid(other, NULL, 0) == other ? "ended" : "not ended");
		} else if (strcmp(line, "vfork\n") == 0) {
			printf("%s\n", pthread_create(&thread, NULL, wait_in_vfork, NULL) ? "no thread" : "waits");
		} else if (strcmp(line, "go on\n") == 0) {
			if (write(go_on[1], "x", 1) != 1)
				return 2;
			pthread_join(thread, NULL);
			puts("went on");
		} else if (strcmp(line, "relay\n") == 0) {
			puts(begin_relay() ? "runs" : "no thread");
		} else if (strcmp(line, "end relay\n") == 0) {
			end_relay();
			puts("ended");
		} else if (strcmp(line, "work\n") == 0) {
			puts(work() ? "worked" : "wrong");
		} else if (strcmp(line, "count\n") == 0) {
			printf("%lu\n", counter);
		}
	}
	return 0;
}
