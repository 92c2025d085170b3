// SPDX-License-Identifier: Apache-2.0
// A call of malloc that is stepped through, and interrupted by a signal handler that waits: at the instruction of that
// number outside of all modules (in a hook), or at the first one of a module after these (in what the hook calls). The
// handler waits in code without unwind information. usage: stepped_call main|own|alternate|below|above|holed: the
// handler's stack: main: the main thread's, which is the only one; own: the thread's own; one in a mapping of its own,
// or one right below or above the thread's, in the same mapping; holed: the thread's own, with pages between that
// another thread would have to provide (userfaultfd). Commands: "interrupt N" (0: in the original) prints "waiting"
// from within the handler, or "never there"; then the next line, whatever it is, lets the handler return: "returned";
// but "begin anew" has it execute this program. "work" makes and frees blocks: "freed".
#include <alloca.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "commands.h"

enum { TRAP_FLAG = 0x100, STACK_SIZE = 1 << 18, HOLE = 1 << 16, PAGE = 4096 };

static volatile sig_atomic_t wanted, outside, has_waited;
static void *alternate;
static int faults = -1;
static char **own_arguments;

// read(0, letter, 1), with a frame pointer that leads nowhere.
long blind_read(char *letter);
__asm__(".text\n"
	".p2align 4\n"
	"blind_read:\n"
	"push %rbp\n"
	"mov $0x1235, %ebp\n"
	"mov %rdi, %rsi\n"
	"xor %edi, %edi\n"
	"mov $1, %edx\n"
	"xor %eax, %eax\n"
	"syscall\n"
	"pop %rbp\n"
	"ret\n");

__attribute__((noipa)) static void wait_for_line(volatile char *hole)
{
	char letter = 0;
	int begins_anew = 0;

	(void)hole;
	while (letter != '\n' && blind_read(&letter) == 1)
		begins_anew |= letter == 'b';
	if (begins_anew)
		execv("/proc/self/exe", own_arguments);
}

static void *provide(void *unused)
{
	struct uffd_msg message;

	while (read(faults, &message, sizeof(message)) == sizeof(message)) {
		struct uffdio_zeropage zero = { .range = { message.arg.pagefault.address & ~(uint64_t)(PAGE - 1),
							   PAGE } };

		ioctl(faults, UFFDIO_ZEROPAGE, &zero);
	}
	return unused;
}

static int begin_providing(void *stack)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .range = { (uintptr_t)stack, STACK_SIZE },
					 .mode = UFFDIO_REGISTER_MODE_MISSING };
	pthread_t thread;

	faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	return faults >= 0 && ioctl(faults, UFFDIO_API, &api) == 0 && ioctl(faults, UFFDIO_REGISTER, &range) == 0 &&
	       pthread_create(&thread, NULL, provide, NULL) == 0;
}

static void step(int signal, siginfo_t *information, void *context)
{
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
	Dl_info object;
	int in_module = dladdr((const void *)(uintptr_t)registers[REG_RIP], &object);

	(void)signal, (void)information;
	outside += !in_module;
	if (has_waited || (wanted ? in_module || outside != wanted : !in_module || !outside))
		return;
	has_waited = 1;
	registers[REG_EFL] &= ~(greg_t)TRAP_FLAG;
	if (write(1, "waiting\n", 8) != 8)
		_exit(2);
	wait_for_line(faults >= 0 ? alloca(HOLE) : NULL);
}

static void interrupt_call(void)
{
	void *(*volatile allocate)(size_t) = malloc;
	void *block;

	outside = has_waited = 0;
	__asm__ volatile("pushf; orl %0, (%%rsp); popf" : : "i"(TRAP_FLAG) : "memory", "cc");
	block = allocate(100);
	__asm__ volatile("pushf; andl %0, (%%rsp); popf" : : "i"(~TRAP_FLAG) : "memory", "cc");
	free(block);
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

static void *serve(void *unused)
{
	struct sigaction action = { .sa_sigaction = step, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	stack_t stack = { .ss_sp = alternate, .ss_size = STACK_SIZE };
	const char *command;

	if (alternate)
		sigaltstack(&stack, NULL);
	sigaction(SIGTRAP, &action, NULL);
	say_ready();
	while ((command = next_command())) {
		if (sscanf(command, "interrupt %d", (int *)&wanted) == 1) {
			interrupt_call();
			puts(has_waited ? "returned" : "never there");
		} else {
			work();
			puts("freed");
		}
	}
	return unused;
}

int main(int argc, char **argv)
{
	char *room = mmap(NULL, 3 * STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const char *kind = argc > 1 ? argv[1] : "own";
	pthread_attr_t attributes;
	pthread_t thread;
	Dl_info object;

	own_arguments = argv;
	dladdr((const void *)(uintptr_t)main, &object); // what it needs is there before it is called in a handler
	if (strcmp(kind, "main") == 0)
		return serve(NULL) != NULL;
	if (strcmp(kind, "alternate") == 0)
		alternate = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	else if (strcmp(kind, "holed") == 0 && !begin_providing(room + STACK_SIZE))
		return puts("unsupported") < 0;
	else if (strcmp(kind, "below") == 0 || strcmp(kind, "above") == 0)
		alternate = strcmp(kind, "below") == 0 ? room : room + 2 * STACK_SIZE;
	pthread_attr_init(&attributes);
	pthread_attr_setstack(&attributes, room + STACK_SIZE, STACK_SIZE);
	if (pthread_create(&thread, &attributes, serve, NULL) != 0)
		return 2;
	pthread_join(thread, NULL);
	return 0;
}
