// SPDX-License-Identifier: Apache-2.0
// A signal handler that waits, and that has interrupted free behind its first instruction: steps through a call of free
// until the pc stands there. usage: interrupted [alternate]: the handler has a stack of its own. Commands: "interrupt"
// prints "waiting" from within the handler; the next line, whatever it is, lets the handler return. Then "work" makes
// and frees blocks; "freed".
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "commands.h"

enum { PATCHED = 5, TRAP_FLAG = 0x100, STACK_SIZE = 65536 };

static uint64_t function; // free
static volatile sig_atomic_t has_waited;

static void step(int signal, siginfo_t *information, void *context)
{
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
	uint64_t offset = (uint64_t)registers[REG_RIP] - function;
	char letter = 0;

	(void)signal, (void)information;
	if (has_waited || offset == 0 || offset >= PATCHED)
		return;
	has_waited = 1;
	registers[REG_EFL] &= ~(greg_t)TRAP_FLAG;
	if (write(1, "waiting\n", 8) != 8)
		_exit(2);
	while (letter != '\n' && read(0, &letter, 1) == 1)
		continue;
}

static void work(void)
{
	static void *volatile blocks[1000];

	for (int round = 0; round < 100; round++) {
		for (size_t i = 0; i < 1000; i++)
			blocks[i] = malloc(i + 1);
		for (size_t i = 0; i < 1000; i++)
			free(blocks[i]);
	}
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_sigaction = step, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	stack_t stack = { .ss_size = STACK_SIZE };
	void *(*volatile allocate)(size_t) = malloc;
	void (*release)(void *);
	const char *command;

	if (argc > 1 && strcmp(argv[1], "alternate") == 0) {
		stack.ss_sp = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		sigaltstack(&stack, NULL);
	}
	sigaction(SIGTRAP, &action, NULL);
	*(void **)&release = dlsym(RTLD_NEXT, "free");
	function = (uint64_t)release;
	if (memcmp((const void *)function, "\xf3\x0f\x1e\xfa", 4) == 0) // endbr64 stays; it is patched behind it
		function += 4;
	setvbuf(stdin, NULL, _IONBF, 0); // the handler reads as well
	say_ready();
	while ((command = next_command())) {
		if (strcmp(command, "interrupt") == 0) {
			void *block = allocate(10);

			__asm__ volatile("pushf; orl %0, (%%rsp); popf" : : "i"(TRAP_FLAG) : "memory", "cc");
			release(block);
			__asm__ volatile("pushf; andl %0, (%%rsp); popf" : : "i"(~TRAP_FLAG) : "memory", "cc");
			puts(has_waited ? "returned" : "never there");
		} else {
			work();
			puts("freed");
		}
	}
	return 0;
}
