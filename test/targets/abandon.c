// SPDX-License-Identifier: Apache-2.0
// An allocator of its own whose functions can be left, or interrupted, in the middle. Commands on standard input:
//   "leave FUNCTION"  calls it 10 times; each time it is left by longjmp, out of a signal handler or not in turns
//   "fork FUNCTION"   calls it once; in the middle of it a signal handler forks. Parent and child go on with the call,
//                     and with others; the child ends with 0 if all was well. Prints the child's status.
//   "deep"            100 blocks of 300 bytes from deeper in the stack than any call that was left
// FUNCTION: malloc, calloc, realloc, posix_memalign, memalign.
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands.h"

enum { LEAVE = 1, LEAVE_BY_SIGNAL, FORK };

static _Alignas(4096) char heap[1 << 26];
static size_t used;
static volatile int in_the_middle;
static sigjmp_buf outside;
static volatile pid_t child;
static void *blocks[1000];
static int count;

// What happens in the middle of the next call.
static void middle(void)
{
	int what = in_the_middle;

	in_the_middle = 0;
	if (what == LEAVE)
		siglongjmp(outside, 1);
	if (what == LEAVE_BY_SIGNAL)
		raise(SIGUSR1);
	if (what == FORK)
		raise(SIGUSR2);
}

static void *take(size_t alignment, size_t size)
{
	size_t start;

	middle();
	start = (used + 16 + alignment - 1) & ~(alignment - 1);
	used = start + size;
	if (used > sizeof(heap))
		abort();
	memcpy(heap + start - 8, &size, sizeof(size));
	return heap + start;
}

#define FUNCTION __attribute__((noipa)) // called as if it were elsewhere

FUNCTION void *malloc(size_t size) { return take(16, size); }
FUNCTION void *calloc(size_t number, size_t size) { return take(16, number * size); }
FUNCTION void *memalign(size_t alignment, size_t size) { return take(alignment, size); }
FUNCTION void *aligned_alloc(size_t alignment, size_t size) { return take(alignment, size); }
FUNCTION void free(void *block) { *(volatile char **)&block = block; }

FUNCTION int posix_memalign(void **result, size_t alignment, size_t size)
{
	*result = take(alignment, size);
	return 0;
}

FUNCTION void *realloc(void *block, size_t size)
{
	void *moved = take(16, size);
	size_t old = 0;

	if (block)
		memcpy(&old, (char *)block - 8, sizeof(old));
	if (block)
		memcpy(moved, block, old < size ? old : size);
	return moved;
}

static void on_leave(int number)
{
	(void)number;
	siglongjmp(outside, 1);
}

static void on_fork(int number)
{
	(void)number;
	child = fork();
}

static __attribute__((noipa)) void *call(const char *function)
{
	static const char text[] = "content";
	void *block = NULL;

	if (strcmp(function, "malloc") == 0)
		block = malloc(100);
	else if (strcmp(function, "calloc") == 0)
		block = calloc(10, 10);
	else if (strcmp(function, "memalign") == 0)
		block = memalign(64, 100);
	else if (strcmp(function, "posix_memalign") == 0 && posix_memalign(&block, 64, 100))
		block = NULL;
	else if (strcmp(function, "realloc") == 0) {
		int what = in_the_middle;

		in_the_middle = 0;
		block = malloc(50);
		memcpy(block, text, sizeof(text));
		in_the_middle = what;
		block = realloc(block, 100);
		if (memcmp(block, text, sizeof(text)) != 0)
			abort();
	}
	return block;
}

static __attribute__((noipa)) void leave(const char *function)
{
	for (volatile int i = 0; i < 10; i++) {
		if (sigsetjmp(outside, 1))
			continue;
		in_the_middle = i % 2 ? LEAVE : LEAVE_BY_SIGNAL;
		call(function);
	}
}

// All functions, many times.
static __attribute__((noipa)) int works(void)
{
	static const char *const functions[] = { "malloc", "calloc", "realloc", "posix_memalign", "memalign" };

	for (int i = 0; i < 1000; i++) {
		void *block = call(functions[i % 5]);

		if (!block)
			return 0;
		memset(block, i, 100);
		free(block);
	}
	return 1;
}

static __attribute__((noipa)) int fork_inside(const char *function)
{
	int status;
	void *block;

	in_the_middle = FORK;
	block = call(function);
	if (!block || !works())
		_exit(3);
	if (child == 0)
		_exit(0);
	return waitpid(child, &status, 0) == child ? status : -1;
}

static __attribute__((noipa)) void deep(int depth)
{
	volatile char room[1000];

	memset((void *)room, depth, sizeof(room));
	if (depth > 0) {
		deep(depth - 1);
		return;
	}
	for (int i = 0; i < 100; i++)
		blocks[count++ % 1000] = malloc(300);
}

int main(void)
{
	const char *command;

	signal(SIGUSR1, on_leave);
	signal(SIGUSR2, on_fork);
	say_ready();
	while ((command = next_command())) {
		if (strncmp(command, "leave ", 6) == 0) {
			leave(command + 6);
			puts("left");
		} else if (strncmp(command, "fork ", 5) == 0) {
			printf("child %d\n", fork_inside(command + 5));
		} else if (strcmp(command, "deep") == 0) {
			deep(10);
			puts("allocated");
		}
	}
	return 0;
}
