// SPDX-License-Identifier: Apache-2.0
// Threads that no libc has made: a bare clone, with a thread pointer of the program's own making. They call an
// allocator that needs none. "start HOW N COUNT" makes N of them; each makes COUNT blocks of 48 bytes by take_block,
// keeps every second one, gives the others back, and then waits. The answer is how many blocks are kept. "finish" ends
// all.
//
// HOW: edge: a block of 16 bytes, the last ones of a page, nothing behind it; its first word is its own address. mimic:
// of 24 bytes, its third word as well, as in glibc. other: 16 bytes that say nothing. none: no thread pointer. nowhere:
// one that leads nowhere. odd: one that is no multiple of 8. shared: that of the thread that makes them. twins: two and
// two have the same one of their own.
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "commands.h"

enum { PAGE = 4096, STACK = 65536, THREADS_MAX = 64, SIZE = 48, PIECES = 1 << 16 };

#define FUNCTION __attribute__((noipa, no_stack_protector))

static union piece {
	union piece *next;
	char bytes[SIZE];
} pieces[PIECES] __attribute__((aligned(16)));
static union piece *freed;
static unsigned used;
static atomic_flag locked = ATOMIC_FLAG_INIT;
static atomic_uint ready, leave, gone;
static unsigned count;
// Where threads have one pointer: the first one's first call waits in the allocator until the second one, whose stack
// lies higher, is in its second call, and that until the first one's has returned.
static atomic_uint meeting, waiting, met, back;
static char *stacks; // of these threads, one behind the other

static inline void lock(void)
{
	while (atomic_flag_test_and_set(&locked))
		__builtin_ia32_pause();
}

static inline unsigned thread_number(void) { return (unsigned)(((char *)__builtin_frame_address(0) - stacks) / STACK); }

static inline void meet(void)
{
	static unsigned calls;

	if (thread_number() == 0 && !waiting) {
		calls = 0;
		waiting = 1;
		while (!met)
			__builtin_ia32_pause();
	} else if (thread_number() == 1 && calls++ == 1) {
		met = 1;
		while (!back)
			__builtin_ia32_pause();
	}
}

FUNCTION void *take_block(size_t size)
{
	union piece *piece;

	(void)size;
	if (meeting)
		meet();
	lock();
	piece = freed;
	if (piece)
		freed = piece->next;
	else
		piece = used < PIECES ? &pieces[used++] : NULL;
	atomic_flag_clear(&locked);
	return piece;
}

FUNCTION void give_block(void *block)
{
	union piece *piece = block;

	lock();
	piece->next = freed;
	freed = piece;
	atomic_flag_clear(&locked);
}

FUNCTION static void site_foreign(void)
{
	void *block = take_block(SIZE), *kept;

	if (meeting && thread_number() == 0)
		back = 1;
	kept = take_block(SIZE);
	__asm__ volatile("" : : "r"(kept) : "memory");
	give_block(block);
}

FUNCTION static int work(void *unused_argument)
{
	(void)unused_argument;
	for (unsigned i = 0; i < count / 2; i++)
		site_foreign();
	ready++;
	while (!leave) // no system call by the libc, which would want errno
		__asm__ volatile("syscall" : : "a"(24 /* sched_yield */) : "rcx", "r11", "memory");
	gone++;
	for (;;)
		__asm__ volatile("syscall" : : "a"(60 /* exit */), "D"(0) : "rcx", "r11", "memory");
	return 0;
}

static char *map(size_t size, int protection)
{
	char *memory = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		exit(1);
	return memory;
}

// A block that ends with a page, behind which nothing can be read.
static uintptr_t block_at_edge(size_t size, int self, int third)
{
	char *pages = map(2 * PAGE, PROT_READ | PROT_WRITE);
	uintptr_t pointer = (uintptr_t)pages + PAGE - size;

	if (self)
		((uintptr_t *)pointer)[0] = pointer;
	if (third)
		((uintptr_t *)pointer)[2] = pointer;
	if (mprotect(pages + PAGE, PAGE, PROT_NONE) != 0)
		exit(1);
	return pointer;
}

static uintptr_t pointer_for(const char *how, unsigned number)
{
	static uintptr_t twin;

	if (strcmp(how, "edge") == 0)
		return block_at_edge(16, 1, 0);
	if (strcmp(how, "mimic") == 0)
		return block_at_edge(24, 1, 1);
	if (strcmp(how, "other") == 0)
		return block_at_edge(16, 0, 0);
	if (strcmp(how, "odd") == 0)
		return block_at_edge(16, 1, 0) + 13;
	if (strcmp(how, "nowhere") == 0)
		return 0x123000 + (uintptr_t)number * PAGE;
	if (strcmp(how, "twins") == 0)
		return twin = number % 2 ? twin : block_at_edge(16, 1, 0);
	return 0;
}

static void start(const char *how, unsigned number)
{
	// The block, where there is one, above the stack and below, by turns.
	char *first = map(STACK, PROT_READ | PROT_WRITE);
	uintptr_t pointer = pointer_for(how, number);
	char *second = map(STACK, PROT_READ | PROT_WRITE);
	int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;

	if (strcmp(how, "shared") != 0)
		flags |= CLONE_SETTLS;
	if (meeting) {
		stacks = number ? stacks : map(THREADS_MAX * STACK, PROT_READ | PROT_WRITE);
		first = second = stacks + number * STACK;
		while ((number == 1 && !waiting) || (number == 2 && !back))
			sched_yield();
	}
	if (clone(work, (number % 2 ? first : second) + STACK, flags, NULL, NULL, (void *)pointer) < 0)
		exit(1);
}

int main(void)
{
	const char *line;

	say_ready();
	while ((line = next_command())) {
		char how[16];
		unsigned threads = 0;

		if (sscanf(line, "start %15s %u %u", how, &threads, &count) == 3 && threads <= THREADS_MAX) {
			ready = leave = gone = waiting = met = back = 0;
			meeting = strcmp(how, "shared") == 0 || strcmp(how, "twins") == 0;
			for (unsigned i = 0; i < threads; i++)
				start(how, i);
			while (ready < threads)
				sched_yield();
			printf("%u\n", threads * (count / 2));
		} else {
			leave = 1;
			sched_yield();
			puts("ok");
		}
	}
	return 0;
}
