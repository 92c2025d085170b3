// SPDX-License-Identifier: Apache-2.0
// Stands in the middle of a dlclose, where the loader has said that it will unmap a library and has not done it: steps
// through the call until then, and waits in the handler of the steps. usage: loader_waits PLUGIN.so. Commands:
// "allocate" makes a block: "allocated"; "close" loads the library and closes it: "deleting", from within the handler,
// which then answers "allocate" as well; any other line lets the loader go on: "closed".
#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "commands.h"

enum { TRAP_FLAG = 0x100 };

static const struct r_debug *loader; // what it tells debuggers
static volatile sig_atomic_t has_waited;
static void *volatile kept[100];
static int kept_count;

static __attribute__((noipa)) void site_while_deleting(void) { kept[kept_count++] = malloc(1000); }

static __attribute__((noipa)) void site_at_rest(void) { kept[kept_count++] = malloc(100); }

// Without stdio, whose locks the interrupted code may hold.
static const char *next_line(void)
{
	static char line[32];
	size_t size = 0;

	while (size + 1 < sizeof(line) && read(0, &line[size], 1) == 1 && line[size] != '\n')
		size++;
	line[size] = 0;
	return line;
}

static void say(const char *text)
{
	if (write(1, text, strlen(text)) < 0)
		_exit(2);
}

static void step(int signal, siginfo_t *information, void *context)
{
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)signal, (void)information;
	if (has_waited || loader->r_state != RT_DELETE)
		return;
	has_waited = 1;
	registers[REG_EFL] &= ~(greg_t)TRAP_FLAG;
	say("deleting\n");
	while (strcmp(next_line(), "allocate") == 0) {
		site_while_deleting();
		say("allocated\n");
	}
}

static void close_in_steps(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	int (*volatile close_library)(void *) = dlclose;

	has_waited = 0;
	__asm__ volatile("pushf; orl %0, (%%rsp); popf" : : "i"(TRAP_FLAG) : "memory", "cc");
	close_library(library);
	__asm__ volatile("pushf; andl %0, (%%rsp); popf" : : "i"(~TRAP_FLAG) : "memory", "cc");
	puts(library && has_waited && !dlopen(path, RTLD_NOLOAD | RTLD_NOW) ? "closed" : "never there");
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_sigaction = step, .sa_flags = SA_SIGINFO };
	const char *command;

	for (const ElfW(Dyn) *entry = _DYNAMIC; entry->d_tag != DT_NULL; entry++)
		if (entry->d_tag == DT_DEBUG)
			loader = (const struct r_debug *)entry->d_un.d_ptr;
	if (argc != 2 || !loader || sigaction(SIGTRAP, &action, NULL) != 0)
		return 2;
	setvbuf(stdin, NULL, _IONBF, 0); // the handler reads as well
	say_ready();
	while (kept_count < 90 && (command = next_command())) {
		if (strcmp(command, "close") == 0) {
			close_in_steps(argv[1]);
		} else {
			site_at_rest();
			puts("allocated");
		}
	}
	return 0;
}
