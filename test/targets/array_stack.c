// SPDX-License-Identifier: Apache-2.0
// An alternate signal stack that is an array in a frame of the thread's own stack: its handler runs further out than
// what it has interrupted. Or none: the handler runs on the interrupted stack, right below. usage: array_stack
// main|thread [none]: which thread obeys. Commands on standard input:
//   "work"       100 blocks are made and kept: "done"
//   "interrupt"  a block is made; amid that comes a signal: "in handler". The handler obeys further commands until
//   "return"     it returns, and so does the interrupted call: "returned"
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "commands.h"
#include "jump_out.h"

#define FUNCTION __attribute__((noipa, no_stack_protector)) // called as if it were elsewhere

enum { ALTERNATE = 1 << 17 };

static char pool[1 << 24];
static size_t used;
static volatile int is_to_interrupt;
static int has_alternate = 1;

FUNCTION void *take_block(size_t size)
{
	void *block = pool + used;

	used += (size + 63) & ~(size_t)63;
	if (used > sizeof(pool))
		abort();
	if (is_to_interrupt) {
		is_to_interrupt = 0;
		raise(SIGUSR1);
	}
	return jump_out(block);
}

FUNCTION void give_block(void *block)
{
	is_to_interrupt = 0;
	*(void *volatile *)&block = block;
}

static FUNCTION void obey(void)
{
	const char *command;

	while ((command = next_command()) && strcmp(command, "return") != 0) {
		if (strcmp(command, "work") == 0) {
			for (int i = 0; i < 100; i++)
				take_block(100);
			puts("done");
		} else {
			is_to_interrupt = 1;
			take_block(100);
			puts("returned");
		}
	}
}

static void on_signal(int number)
{
	(void)number;
	puts("in handler");
	obey();
}

static FUNCTION void *run(void *unused)
{
	enum { PAGE = 4096 };
	// Where the stack's pages begin decides whether the payload finds a handler's frame on the same stack
	// (reentry_is_handlers): always alike.
	volatile char *below = __builtin_alloca(((uintptr_t)__builtin_frame_address(0) & (PAGE - 1) & ~15ul) + 1);
	char alternate[ALTERNATE];
	const stack_t stack = { .ss_sp = alternate, .ss_size = sizeof(alternate) };
	const stack_t none = { .ss_flags = SS_DISABLE };

	below[0] = 0;
	if (has_alternate)
		sigaltstack(&stack, NULL);
	say_ready();
	obey();
	sigaltstack(&none, NULL);
	return unused;
}

int main(int count, char **arguments)
{
	const struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK | SA_NODEFER };
	pthread_t thread;

	has_alternate = count < 3;
	sigaction(SIGUSR1, &action, NULL);
	if (count > 1 && strcmp(arguments[1], "main") == 0)
		run(NULL);
	else if (pthread_create(&thread, NULL, run, NULL) != 0 || pthread_join(thread, NULL) != 0)
		return 1;
	return 0;
}
