// SPDX-License-Identifier: Apache-2.0
// A part of a thread's stack that comes and goes: an allocation deep in it is left by a jump, and then the part is
// closed or taken away, as runtimes do that watch their recursion or shrink their stacks. usage: left_stack
// main|thread|given. Commands on standard input:
//   "leave N"  N = 0: the allocation is left by longjmp; 1: out of a signal handler
//   "close"    the part becomes inaccessible
//   "unmap"    it is taken away (of a stack that the program gave)
//   "open"     it can be used again, after "close"
//   "work"     100 blocks of 100 bytes are made and kept, by the thread where it always stands
//   "deep"     likewise, below the place where the allocation was left
//   "handler"  likewise, in a signal handler on an alternate stack
//   "low", "high" likewise, in a coroutine, on memory below or above the thread's stack
#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "commands.h"
#include "jump_out.h"

#define FUNCTION __attribute__((noipa, no_stack_protector)) // called as if it were elsewhere

enum { STACK = 1 << 20, PART = 65536, BELOW = 262144, OTHER = 65536 };

static char pool[1 << 24];
static size_t used;
static volatile int leaving; // 1: by longjmp, 2: by a signal handler
static sigjmp_buf outside;
static char *part; // of the stack
static char *low_stack, *high_stack;
static ucontext_t thread_context, coroutine_context;

FUNCTION void *take_block(size_t size)
{
	int how = leaving;

	leaving = 0;
	if (how == 1)
		siglongjmp(outside, 1);
	if (how == 2)
		raise(SIGUSR2);
	used += (size + 63) & ~(size_t)63;
	if (used > sizeof(pool))
		abort();
	return jump_out(pool + used - ((size + 63) & ~(size_t)63));
}

FUNCTION void give_block(void *block) { *(void *volatile *)&block = block; }

static FUNCTION void work(void)
{
	for (int i = 0; i < 100; i++)
		take_block(100);
}

static void on_leave(int number)
{
	(void)number;
	siglongjmp(outside, 1);
}

static void on_work(int number)
{
	(void)number;
	work();
}

// Calls `function` with the stack pointer at `place`. What a call has left there before is overwritten.
static FUNCTION void call_at(const char *place, void (*function)(void))
{
	char here;
	size_t size = (size_t)(&here - place);
	char *room = alloca(size);

	explicit_bzero(room, size);
	function();
	explicit_bzero(room, 1); // so that the call is not the last thing
}

static FUNCTION void take_and_leave(void) { give_block(take_block(50)); }

static FUNCTION void leave(int how)
{
	if (sigsetjmp(outside, 1))
		return;
	leaving = how;
	call_at(part + PART / 2, take_and_leave);
}

static void coroutine(char *memory)
{
	getcontext(&coroutine_context);
	coroutine_context.uc_stack.ss_sp = memory;
	coroutine_context.uc_stack.ss_size = OTHER;
	coroutine_context.uc_link = &thread_context;
	makecontext(&coroutine_context, work, 0);
	swapcontext(&thread_context, &coroutine_context);
}

static const char *obey(const char *command)
{
	if (strncmp(command, "leave ", 6) == 0)
		leave(1 + (command[6] == '1'));
	else if (strcmp(command, "close") == 0 || strcmp(command, "open") == 0)
		return mprotect(part, PART, command[0] == 'o' ? PROT_READ | PROT_WRITE : PROT_NONE) ? "failed" : "done";
	else if (strcmp(command, "unmap") == 0)
		return munmap(part, PART) ? "failed" : "done";
	else if (strcmp(command, "work") == 0)
		work();
	else if (strcmp(command, "deep") == 0)
		call_at(part + PART / 4, work);
	else if (strcmp(command, "handler") == 0)
		raise(SIGUSR1);
	else
		coroutine(strcmp(command, "low") == 0 ? low_stack : high_stack);
	return "done";
}

static void *run(void *unused)
{
	static _Alignas(64) char alternate[OTHER];
	const stack_t stack = { .ss_sp = alternate, .ss_size = OTHER };
	const struct sigaction action = { .sa_handler = on_work, .sa_flags = SA_ONSTACK };
	const char *command;
	char here;

	part = (char *)(((uintptr_t)&here - BELOW) & ~(uintptr_t)4095);
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	signal(SIGUSR2, on_leave);
	say_ready();
	while ((command = next_command()))
		puts(obey(command));
	return unused;
}

static FUNCTION void grow_stack(void)
{
	volatile char *grown = alloca(STACK);

	grown[0] = 1;
}

int main(int count, char **arguments)
{
	const char *kind = count > 1 ? arguments[1] : "";
	char *memory = mmap(NULL, STACK + 2 * OTHER, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attributes;
	pthread_t thread;

	if (memory == MAP_FAILED)
		return 1;
	low_stack = memory;
	high_stack = memory + OTHER + STACK;
	pthread_attr_init(&attributes);
	if (strcmp(kind, "given") == 0)
		pthread_attr_setstack(&attributes, memory + OTHER, STACK);
	grow_stack();
	if (strcmp(kind, "main") == 0)
		run(NULL);
	else if (pthread_create(&thread, &attributes, run, NULL) != 0 || pthread_join(thread, NULL) != 0)
		return 1;
	return 0;
}
