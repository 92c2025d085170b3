// SPDX-License-Identifier: Apache-2.0
// Coroutines that are left amid an allocation function, as schedulers leave them that switch on a lock or a page fault;
// and one allocation that is left by a jump. usage: coroutines up|down framed|watched: how their stacks follow each
// other, and which function it is: one that can only run below a frame of the payload's (take_framed), or one whose
// returns can be watched (take_watched). Commands on standard input:
//   "suspend N"  N coroutines begin, and each is left amid its call; behind each the thread makes a block on its own
//                stack
//   "pack N"     likewise, without those blocks
//   "thread N"   as "suspend", in a thread that ends then
//   "finish K"   coroutine K's call returns, and it ends
//   "laps N"     two coroutines, "crowd N" ten, make N blocks each, in turn, and are left amid each call
//   "grow N"     one call calls the function itself N times
//   "jump N"     a call is left by longjmp; then a function in whose frame that part of the stack lies makes N blocks
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "commands.h"
#include "jump_out.h"

#define FUNCTION __attribute__((noipa, no_stack_protector))

enum { STACK = 65536, COUNT = 100, CLEARED = 4096, CROWD = 10 };

static char pool[1 << 24];
static size_t used;
static volatile int switches, leaves;
static volatile int grows;
static jmp_buf outside;
static ucontext_t thread_context, contexts[COUNT];
static char *stacks;
static int down, current, laps;

static FUNCTION void switch_away(void)
{
	int mine = current;

	swapcontext(&contexts[mine], &thread_context);
}

static FUNCTION void *from_pool(size_t size)
{
	used += (size + 63) & ~(size_t)63;
	if (used > sizeof(pool))
		abort();
	return pool + used - ((size + 63) & ~(size_t)63);
}

static FUNCTION void jump(void)
{
	if (leaves)
		longjmp(outside, 1);
}

static void *(*volatile take)(size_t);

static inline void *work(size_t size)
{
	void *block;

	if (switches)
		switch_away();
	if (leaves)
		jump();
	while (grows > 0) {
		int rest = grows;

		grows = 0;
		*(volatile char *)take(32) = 1;
		grows = rest - 1;
	}
	block = from_pool(size);
	__asm__ volatile("" : "+r"(block));
	return block;
}

FUNCTION void *take_framed(size_t size) { return jump_out(work(size)); }
FUNCTION void *take_watched(size_t size) { return work(size); }

// So that nothing is left over below.
static FUNCTION void clear(void)
{
	volatile char below[CLEARED];

	for (size_t i = 0; i < sizeof(below); i++)
		below[i] = 0;
}

static FUNCTION void site_coroutine(void) { *(volatile char *)take(100) = 1; }

static void body(void)
{
	for (int i = 0; i < laps; i++) {
		site_coroutine();
		clear();
	}
}

static FUNCTION void run(int index)
{
	current = index;
	swapcontext(&thread_context, &contexts[index]);
}

static FUNCTION void site_thread(void)
{
	int before = switches;

	switches = 0;
	*(volatile char *)take(50) = 1;
	switches = before;
}

static void begin(int index)
{
	getcontext(&contexts[index]);
	contexts[index].uc_stack.ss_sp = stacks + (down ? COUNT - 1 - index : index) * (size_t)STACK;
	contexts[index].uc_stack.ss_size = STACK;
	contexts[index].uc_link = &thread_context;
	makecontext(&contexts[index], body, 0);
}

static void suspend(int count, int between)
{
	laps = 1;
	switches = 1;
	for (int i = 0; i < count; i++) {
		begin(i);
		run(i);
		if (between)
			site_thread();
	}
	switches = 0;
}

static void *in_thread(void *count)
{
	suspend(*(int *)count, 1);
	return NULL;
}

static void *nothing(void *unused) { return unused; }

static void go_round(int count, int rounds)
{
	laps = rounds;
	switches = 1;
	for (int i = 0; i < count; i++)
		begin(i);
	for (int lap = 0; lap <= rounds; lap++)
		for (int i = 0; i < count; i++)
			run(i);
	switches = 0;
}

static FUNCTION void deeper(void)
{
	volatile char room[20000];

	room[0] = 1;
	site_thread();
	room[0] = room[0] + 1 > 1;
}

static FUNCTION void site_after(int count)
{
	volatile char room[65536];

	room[0] = 1;
	for (int i = 0; i < count; i++)
		*(volatile char *)take(100) = room[0];
}

static void leave(int count)
{
	if (setjmp(outside) == 0) {
		leaves = 1;
		deeper();
	}
	leaves = 0;
	site_after(count);
}

static FUNCTION void site_grow(int count)
{
	grows = count;
	*(volatile char *)take(70) = 1;
}

int main(int count, char **arguments)
{
	const char *command;
	pthread_t first;

	take = count > 2 && strcmp(arguments[2], "watched") == 0 ? take_watched : take_framed;
	down = count > 1 && strcmp(arguments[1], "down") == 0;
	stacks = mmap(NULL, (size_t)STACK * COUNT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	// which sets handlers of the libc's
	if (stacks == MAP_FAILED || pthread_create(&first, NULL, nothing, NULL) || pthread_join(first, NULL))
		return 1;
	say_ready();
	while ((command = next_command())) {
		int number = atoi(strchr(command, ' ') ? strchr(command, ' ') : "");
		pthread_t thread;

		if (strncmp(command, "suspend", 7) == 0)
			suspend(number, 1);
		else if (strncmp(command, "pack", 4) == 0)
			suspend(number, 0);
		else if (strncmp(command, "thread", 6) == 0 &&
			 (pthread_create(&thread, NULL, in_thread, &number) || pthread_join(thread, NULL)))
			return 1;
		else if (strncmp(command, "finish", 6) == 0)
			run(number);
		else if (strncmp(command, "laps", 4) == 0)
			go_round(2, number);
		else if (strncmp(command, "crowd", 5) == 0)
			go_round(CROWD, number);
		else if (strncmp(command, "grow", 4) == 0)
			site_grow(number);
		else if (strncmp(command, "jump", 4) == 0)
			leave(number);
		puts("done");
	}
	return 0;
}
