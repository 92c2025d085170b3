// SPDX-License-Identifier: Apache-2.0
// Which functions a guarded trap is put into, and that a thread which nobody traces passes through whatever stands
// there meanwhile.
#include "check.h"

#include "attach/arch/guarded_trap.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NONE = -1, WORD = 8 };

static const struct {
	const char *name;
	uint8_t code[GUARDED_TRAP_SIZE];
	int past; // offset; NONE = no trap is put there
} cases[] = {
	{ "glibc's, filled by an assembler",
	  { 0xc3, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0, 0x0f, 0x1f, 0x40, 0 },
	  1 },
	{ "musl's", { 0xc3, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0, 0x0f, 0x1f, 0x44, 0, 0 }, 1 },
	{ "with a mark for indirect branches",
	  { 0xf3, 0x0f, 0x1e, 0xfa, 0xc3, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0 },
	  5 },
	{ "a return with a prefix, as older compilers write",
	  { 0xf3, 0xc3, 0x66, 0x66, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0, 0x90 },
	  1 },
	{ "filled with traps",
	  { 0xc3, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc },
	  1 },
	{ "another function right behind",
	  { 0xc3, 0x55, 0x48, 0x89, 0xe5, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90 },
	  NONE },
	{ "the last byte is another function's",
	  { 0xc3, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x55 },
	  NONE },
	{ "it does something",
	  { 0x90, 0xc3, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90 },
	  NONE },
	{ "it takes arguments off the stack",
	  { 0xc2, 0x08, 0x00, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90 },
	  NONE },
};

static void test_which(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct guarded_trap trap;
		const bool is_put = arch_guarded_trap(cases[i].code, &trap);

		if (is_put != (cases[i].past != NONE))
			fprintf(stderr, "%s:\n", cases[i].name);
		CHECK_EQUAL(is_put, cases[i].past != NONE);
		if (!is_put)
			continue;
		CHECK_EQUAL(trap.past, cases[i].past);
		CHECK(memcmp(trap.set, trap.idle, GUARDED_TRAP_SIZE) != 0);
		CHECK(memcmp(trap.set + WORD, trap.idle + WORD, WORD) == 0);
	}
}

static void test_passes(uint8_t *memory, const uint8_t code[GUARDED_TRAP_SIZE], const struct guarded_trap *trap)
{
	const uint64_t address = (uint64_t)(uintptr_t)memory;
	uint8_t action[HS_KERNEL_SIGACTION_SIZE], before[HS_KERNEL_SIGACTION_SIZE];
	void (*function)(void);

	memcpy(&function, &memory, sizeof(function));
	arch_kernel_sigaction(address + trap->past, address + trap->restorer, action);
	memcpy(memory, code, GUARDED_TRAP_SIZE);
	function();
	memcpy(memory + WORD, trap->idle + WORD, WORD); // half of it is written
	function();
	memcpy(memory, trap->idle, GUARDED_TRAP_SIZE);
	function();
	CHECK_EQUAL(syscall(SYS_rt_sigaction, SIGTRAP, action, before, 8), 0);
	memcpy(memory, trap->set, GUARDED_TRAP_SIZE);
	function();
	function();
	CHECK_EQUAL(syscall(SYS_rt_sigaction, SIGTRAP, before, action, 8), 0);
}

int main(void)
{
	uint8_t *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(memory != MAP_FAILED);
	test_which();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]) && memory != MAP_FAILED; i++) {
		struct guarded_trap trap;

		if (arch_guarded_trap(cases[i].code, &trap))
			test_passes(memory, cases[i].code, &trap);
	}
	munmap(memory, 4096);
	return CHECK_RESULT();
}
