// SPDX-License-Identifier: Apache-2.0
// Stacks whose lower end no mapping shows, and stack pointers that are none. What lies around them is filled, and
// compared when the standard input has ended: status 1 when a byte is not what it was. The first argument says which.
#include "ptrace_target.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <ucontext.h>

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102 // since Linux 6.13
#endif

enum { STACK = 16384, TABLE = 262144, TINY = 24576, FRAME = 4096 };

static volatile int ending, standing, wrong;

static void fill(volatile uint8_t *bytes, size_t size, unsigned seed)
{
	for (size_t i = 0; i < size; i++)
		bytes[i] = seed ? (uint8_t)(i * 31 + seed) : 0;
}

static void compare(const char *what, const volatile uint8_t *bytes, size_t size, unsigned seed)
{
	for (size_t i = 0; i < size; i++) {
		if (bytes[i] != (seed ? (uint8_t)(i * 31 + seed) : 0)) {
			fprintf(stderr, "%s: byte %zu is changed\n", what, i);
			wrong = 1;
			return;
		}
	}
}

static void *memory(size_t size)
{
	void *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return bytes == MAP_FAILED ? NULL : bytes;
}

// Says "ready" once `count` threads stand where they should, and waits for the end.
static void wait_for_end(int count)
{
	while (standing < count)
		usleep(1000);
	target_ready();
	target_wait_for_end();
	ending = 1;
}

static void *wait_in_thread(void *count)
{
	wait_for_end((int)(intptr_t)count);
	return NULL;
}

static void spin(void)
{
	__atomic_fetch_add(&standing, 1, __ATOMIC_SEQ_CST);
	while (!ending)
		;
}

// No stack while it spins: the register points where it is told.
static __attribute__((noinline)) void spin_with_stack_pointer(volatile uint8_t *where)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	__atomic_fetch_add(&standing, 1, __ATOMIC_SEQ_CST);
	__asm__ volatile("mov %%rsp, %%rbx\n\tmov %0, %%rsp\n1:\tcmpl $0, (%1)\n\tje 1b\n\tmov %%rbx, %%rsp"
			 :
			 : "r"(where), "r"(&ending)
			 : "rbx", "memory", "cc");
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static pthread_t start(void *(*function)(void *), void *argument, void *stack, size_t size)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	if (stack && pthread_attr_setstack(&attributes, stack, size))
		exit(2);
	if (pthread_create(&thread, &attributes, function, argument))
		exit(2);
	return thread;
}

static size_t left_of_stack = 1500;

// About 1 KiB of its stack is left.
static void *fill_own_stack(void *low)
{
	volatile uint8_t here, *rest;
	size_t size = (size_t)(&here - (volatile uint8_t *)low) - left_of_stack;

	rest = __builtin_alloca(size);
	fill(rest, size - 100, 7);
	spin();
	compare("the thread's own stack", rest, size - 100, 7);
	return NULL;
}

// The stack of another thread, and plain data, right below one that is nearly full; one mapping.
static void neighbour(void)
{
	uint8_t *base = memory(4 * STACK);
	pthread_t thread;

	fill(base, 3 * STACK, 3);
	thread = start(fill_own_stack, base + 3 * STACK, base + 3 * STACK, STACK);
	wait_for_end(1);
	pthread_join(thread, NULL);
	compare("below the stack", base, 3 * STACK, 3);
}

// Guards that do not part mappings; three stacks, each nearly full.
static void guards(void)
{
	uint8_t *base = memory(3 * 2 * STACK);
	pthread_t threads[3];

	for (int i = 0; i < 3; i++) {
		uint8_t *low = base + i * 2 * STACK;

		if (madvise(low + STACK - 4096, 4096, MADV_GUARD_INSTALL) != 0) {
			puts("no guards");
			exit(77);
		}
		fill(low, STACK - 4096, 5);
		threads[i] = start(fill_own_stack, low + STACK, low + STACK, STACK);
	}
	wait_for_end(3);
	for (int i = 0; i < 3; i++) {
		pthread_join(threads[i], NULL);
		compare("below the guard", base + i * 2 * STACK, STACK - 4096, 5);
	}
}

#ifdef __GLIBC__ // musl has no makecontext
static ucontext_t main_context, other_context;

static void coroutine(void)
{
	volatile uint8_t local[3000];

	fill(local, sizeof(local), 11);
	fcntl(0, F_SETFL, O_NONBLOCK);
	target_ready();
	for (char byte; !ending;)
		ending = read(0, &byte, 1) == 0;
	compare("the coroutine's frame", local, sizeof(local), 11);
}

// One thread, whose stack is a piece of a block in the heap.
static void in_coroutine(void)
{
	volatile uint8_t local[20000];
	uint8_t *block = malloc(3 * TINY);

	fill(local, sizeof(local), 13);
	fill(block, 3 * TINY, 17);
	getcontext(&other_context);
	other_context.uc_stack.ss_sp = block + TINY;
	other_context.uc_stack.ss_size = TINY;
	other_context.uc_link = &main_context;
	fill(block + TINY, TINY, 0); // all zero, as calloc has it
	makecontext(&other_context, coroutine, 0);
	swapcontext(&main_context, &other_context);
	compare("below the coroutine's stack", block, TINY, 17);
	compare("main's frame", local, sizeof(local), 13);
	free(block);
}
#endif

static uint8_t table[TABLE];

static void *use_stack_pointer(void *where)
{
	spin_with_stack_pointer(where);
	return NULL;
}

// A thread whose stack pointer is a pointer into data, with every signal blocked.
static void in_table(void)
{
	pthread_t thread;

	fill(table, sizeof(table), 19);
	thread = start(use_stack_pointer, table + TABLE / 2, NULL, 0);
	wait_for_end(1);
	pthread_join(thread, NULL);
	compare("the table", table, sizeof(table), 19);
}

// The same with the main thread, and a table on its stack, with `seed` 0 all zero.
static __attribute__((noinline)) void in_own_stack(unsigned seed)
{
	volatile uint8_t here[TABLE];
	pthread_t thread;

	fill(here, sizeof(here), seed);
	thread = start(wait_in_thread, (void *)(intptr_t)1, NULL, 0);
	spin_with_stack_pointer(here + TABLE / 2);
	pthread_join(thread, NULL);
	compare("the table on the stack", here, sizeof(here), seed);
}

static __attribute__((noinline)) int recurse(int depth, void (*last)(void))
{
	volatile uint8_t frame[FRAME];

	fill(frame, sizeof(frame), (unsigned)depth + 1);
	if (depth == 0)
		last();
	else
		recurse(depth - 1, last);
	compare("a frame", frame, sizeof(frame), (unsigned)depth + 1);
	return frame[0];
}

static void stand_alone(void) { wait_for_end(0); }

// [stack] may not grow any more.
static void limit_stack(void)
{
	char line[256];
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long low = 0, high = 0;
	struct rlimit limit;

	while (maps && fgets(line, sizeof(line), maps))
		if (strstr(line, "[stack]"))
			sscanf(line, "%lx-%lx", &low, &high);
	if (maps)
		fclose(maps);
	getrlimit(RLIMIT_STACK, &limit);
	limit.rlim_cur = high - low;
	setrlimit(RLIMIT_STACK, &limit);
	wait_for_end(0);
}

static volatile uint8_t *alternate_low;

// About 1 KiB of the alternate stack is left.
static void handler(int unused)
{
	(void)unused;
	fill_own_stack((void *)(uintptr_t)alternate_low);
}

static void raise_it(void) { raise(SIGUSR1); }

static void use_stack(int unused)
{
	(void)unused;
	fill(__builtin_alloca(1000), 1000, 37); // uses its stack
}

// A handler on an alternate stack, which is an array of main's frame; below it are frames that the handler has
// interrupted.
static __attribute__((noinline)) void in_handler(void)
{
	volatile uint8_t alternate[65536];
	const stack_t stack = { .ss_sp = (void *)(uintptr_t)alternate, .ss_size = sizeof(alternate) };
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_ONSTACK };
	pthread_t thread;

	alternate_low = alternate;
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	action.sa_handler = use_stack;
	sigaction(SIGUSR2, &action, NULL);
	thread = start(wait_in_thread, (void *)(intptr_t)1, NULL, 0);
	recurse(10, raise_it);
	pthread_join(thread, NULL);
}

// Code that calls nothing while it works on zeros, which reach down to where no stack pointer has ever been; `low`:
// about so far, NULL = new memory of [stack].
static volatile int working;
static pthread_t worker;

static __attribute__((noinline)) void work_on_zeros(const volatile uint8_t *low)
{
	volatile uint8_t here, *zeros;
	size_t size = low ? (size_t)(&here - low) - 6000 : 2 * (size_t)TABLE;

	zeros = __builtin_alloca(size);
	for (size_t i = 0; i < size; i++)
		zeros[i] = 0;
	working = 1;
	while (!ending)
		;
	compare("the zeros", zeros, size, 0);
}

static void stand(int unused)
{
	(void)unused;
	spin();
}

static void *interrupt_worker(void *unused)
{
	while (!working)
		usleep(1000);
	pthread_kill(worker, SIGUSR1);
	wait_for_end(1);
	return unused;
}

// The handler's stack lies in the same stack as those zeros, above them: a thread in the handler has its stack pointer
// in its own stack, and the part below that in use.
static __attribute__((noinline)) void handler_above_zeros(const volatile uint8_t *low)
{
	volatile uint8_t alternate[32768];
	const stack_t stack = { .ss_sp = (void *)(uintptr_t)alternate, .ss_size = sizeof(alternate) };
	const stack_t none = { .ss_flags = SS_DISABLE };
	const struct sigaction action = { .sa_handler = stand, .sa_flags = SA_ONSTACK };

	worker = pthread_self();
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	work_on_zeros(low);
	sigaltstack(&none, NULL);
}

static void *handler_above_zeros_in(void *low)
{
	handler_above_zeros(low);
	return NULL;
}

static volatile uint8_t *of_main;

static void *look_at_main(void *unused)
{
	(void)unused;
	wait_for_end(1);
	compare("the frame of the main thread, which has ended", of_main, 50000, 23);
	exit(wrong);
}

static __attribute__((noinline)) void main_ends(void)
{
	volatile uint8_t local[50000];

	of_main = local;
	fill(local, sizeof(local), 23);
	start(look_at_main, NULL, NULL, 0);
	standing = 1;
	syscall(SYS_exit, 0);
}

static int raw_thread(void *unused)
{
	(void)unused;
	// No libc from here on: the thread pointer is another thread's.
	__atomic_fetch_add(&standing, 1, __ATOMIC_SEQ_CST);
	while (!ending)
		;
	__atomic_fetch_sub(&standing, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_exit, 0);
	return 0;
}

// A thread without a control block of its own, on a small stack in the heap.
static void raw(void)
{
	uint8_t *block = malloc(3 * TINY);

	fill(block, 3 * TINY, 29);
	if (clone(raw_thread, block + 2 * TINY,
		  CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM, NULL) < 0)
		exit(2);
	wait_for_end(1);
	while (standing > 0)
		usleep(1000);
	usleep(10000);
	compare("below the thread's stack", block, TINY, 29);
	compare("above the thread's stack", block + 2 * TINY, TINY, 29 + (2 * TINY * 31) % 256);
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";

	if (strcmp(kind, "neighbour") == 0)
		neighbour();
	else if (strcmp(kind, "guards") == 0)
		guards();
#ifdef __GLIBC__
	else if (strcmp(kind, "coroutine") == 0)
		in_coroutine();
#endif
	else if (strcmp(kind, "table") == 0)
		in_table();
	else if (strcmp(kind, "stack_table") == 0)
		in_own_stack(31);
	else if (strcmp(kind, "stack_zeros") == 0)
		in_own_stack(0);
	else if (strcmp(kind, "handler") == 0)
		in_handler();
	else if (strcmp(kind, "signals") == 0) {
		left_of_stack = 32768; // there is room for another handler
		in_handler();
	} else if (strcmp(kind, "zeros_of_main") == 0) {
		pthread_t thread = start(interrupt_worker, NULL, NULL, 0);

		handler_above_zeros(NULL);
		pthread_join(thread, NULL);
	} else if (strcmp(kind, "zeros_of_thread") == 0) {
		uint8_t *low = memory(TABLE);
		pthread_t thread = start(handler_above_zeros_in, low, low, TABLE);

		interrupt_worker(NULL);
		pthread_join(thread, NULL);
	} else if (strcmp(kind, "main_ends") == 0)
		main_ends();
	else if (strcmp(kind, "raw") == 0)
		raw();
	else if (strcmp(kind, "full") == 0 && argc == 3)
		recurse(atoi(argv[2]), limit_stack);
	else if (strcmp(kind, "deep") == 0 && argc == 3)
		recurse(atoi(argv[2]), stand_alone);
	else
		return 2;
	return wrong;
}
