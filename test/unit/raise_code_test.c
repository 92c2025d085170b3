// SPDX-License-Identifier: Apache-2.0
// Which functions become code that raises a signal, that a thread which nobody traces passes through whatever stands
// there meanwhile, and what is said of each place in it.
#include "check.h"

#include "attach/arch/raise_code.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { WORD = 8 };

static const struct {
	const char *name;
	uint8_t code[RAISE_CODE_SIZE];
	bool fits;
} cases[] = {
	{ "glibc's, filled by an assembler",
	  { 0xc3, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0, 0x0f, 0x1f, 0x40, 0 },
	  true },
	{ "musl's", { 0xc3, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0, 0x0f, 0x1f, 0x44, 0, 0 }, true },
	{ "with a mark for indirect branches",
	  { 0xf3, 0x0f, 0x1e, 0xfa, 0xc3, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0 },
	  true },
	{ "a return with a prefix, as older compilers write",
	  { 0xf3, 0xc3, 0x66, 0x66, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0, 0x90 },
	  true },
	{ "filled with traps",
	  { 0xc3, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc },
	  true },
	{ "another function right behind",
	  { 0xc3, 0x55, 0x48, 0x89, 0xe5, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90 },
	  false },
	{ "the last byte is another function's",
	  { 0xc3, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x55 },
	  false },
	{ "it does something",
	  { 0x90, 0xc3, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90 },
	  false },
	{ "it takes arguments off the stack",
	  { 0xc2, 0x08, 0x00, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90 },
	  false },
};

static uint64_t beginning;
static int signals_raised, signals_elsewhere;

static void count(int number, siginfo_t *info, void *context)
{
	const ucontext_t *user = context;

	(void)number;
	if (info->si_pid == getpid() &&
	    arch_raise_code_has_raised((uint64_t)user->uc_mcontext.gregs[REG_RIP] - beginning))
		signals_raised++;
	else
		signals_elsewhere++;
}

static void test_which(void)
{
	uint8_t code[RAISE_CODE_SIZE];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const bool fits = arch_raise_code(cases[i].code, SIGURG, code);

		if (fits != cases[i].fits)
			fprintf(stderr, "%s:\n", cases[i].name);
		CHECK_EQUAL(fits, cases[i].fits);
	}
	CHECK(!arch_raise_code(cases[0].code, 0, code)); // none could be chosen
}

// Word by word, the last one first, as it is written.
static void test_passes(uint8_t *memory, const uint8_t function[RAISE_CODE_SIZE])
{
	static const int signals[] = { SIGURG, SIGWINCH };
	void (*call)(void);

	memcpy(&call, &memory, sizeof(call));
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		struct sigaction action = { .sa_sigaction = count, .sa_flags = SA_SIGINFO };
		uint8_t code[RAISE_CODE_SIZE];

		CHECK(arch_raise_code(function, signals[i], code));
		memcpy(memory, function, RAISE_CODE_SIZE);
		call();
		memcpy(memory + WORD, code + WORD, WORD);
		call();
		memcpy(memory, code, WORD);
		call(); // ignored
		signals_raised = signals_elsewhere = 0;
		sigaction(signals[i], &action, NULL);
		call();
		call();
		CHECK_EQUAL(signals_raised, 2);
		CHECK_EQUAL(signals_elsewhere, 0);
		memcpy(memory, function, WORD);
		call();
		CHECK_EQUAL(signals_raised, 2);
		signal(signals[i], SIG_DFL);
	}
}

// Steps through the code: at each place of it the stack is as is said.
static void test_places(uint8_t *memory)
{
	int status = 0, steps = 0;
	uint64_t low = 0, high = 0, raised = 0, sp = 0;
	pid_t pid;
	void (*call)(void);

	memcpy(&call, &memory, sizeof(call));
	CHECK(arch_raise_code(cases[0].code, SIGURG, memory));
	pid = fork();
	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		call();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	while (WIFSTOPPED(status) && steps < 100000) {
		struct user_regs_struct registers;
		uint64_t offset;

		CHECK_EQUAL(ptrace(PTRACE_GETREGS, pid, 0, &registers), 0);
		offset = registers.rip - beginning;
		if (offset == 0)
			sp = registers.rsp;
		if (offset < RAISE_CODE_SIZE) {
			CHECK_EQUAL(sp - registers.rsp, arch_raise_code_pushed(offset));
			low += offset == 0;
			high += arch_raise_code_pushed(offset) != 0;
			raised += WSTOPSIG(status) == SIGURG && arch_raise_code_has_raised(offset);
		} else if (low) {
			break; // it has returned
		}
		ptrace(PTRACE_SINGLESTEP, pid, 0, 0);
		waitpid(pid, &status, 0);
		steps++;
	}
	CHECK_EQUAL(low, 1);
	CHECK_EQUAL(high, 3);
	CHECK_EQUAL(raised, 1);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
}

int main(void)
{
	uint8_t *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(memory != MAP_FAILED);
	if (memory == MAP_FAILED)
		return CHECK_RESULT();
	beginning = (uint64_t)(uintptr_t)memory;
	test_which();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (cases[i].fits)
			test_passes(memory, cases[i].code);
	test_places(memory);
	munmap(memory, 4096);
	return CHECK_RESULT();
}
