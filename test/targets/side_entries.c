// SPDX-License-Identifier: Apache-2.0
// An allocator in assembly, as old ones are: with a second entry behind malloc's first instruction, which has no
// symbol. How that is entered is said at compile time: SIDE_CALL, SIDE_CALL_BEFORE: called from a function behind or
// before; SIDE_SHORT, SIDE_SHORT_BEHIND: by a jump of 8 bits from there; SIDE_CONDITION: by one with a condition, of
// code without a symbol; SIDE_COUNT: by jrcxz; SIDE_ADDRESS: by its address; otherwise not at all. The command "work"
// calls malloc and the side entry and prints "worked".
#include <stddef.h>
#include <string.h>

#include "commands.h"

static _Alignas(16) char pool[1 << 24];
static size_t used;

__attribute__((used)) static void *take(size_t size)
{
	void *block;

	size = (size + 31) & ~(size_t)15;
	if (used + size > sizeof(pool))
		used = 0;
	block = pool + used;
	used += size;
	return block;
}

// void *side(void): through the second entry, if there is one.
#define FUNCTION(name)   ".globl " name "\n.type " name ", @function\n" name ":\n"
#define END(name)        ".size " name ", . - " name "\n"
#define CALL_SIDE(entry) FUNCTION("side") "sub $8, %rsp\nmov $16, %edi\ncall " entry "\nadd $8, %rsp\nret\n" END("side")

#if defined(SIDE_CALL_BEFORE)
#define BEFORE CALL_SIDE("1f")
#elif defined(SIDE_SHORT)
#define BEFORE FUNCTION("side") "mov $16, %edi\njmp 1f\n" END("side")
#elif defined(SIDE_CONDITION)
#define BEFORE                                                                                                         \
	FUNCTION("side") "mov $16, %edi\njmp 2f\n.fill 60, 1, 0x90\n" END("side") "2: test %rsp, %rsp\njne 1f\nint3\n"
#elif defined(SIDE_COUNT)
#define BEFORE FUNCTION("side") "mov $16, %edi\nxor %ecx, %ecx\njrcxz 1f\nint3\n" END("side")
#else
#define BEFORE
#endif
#if defined(SIDE_CALL)
#define BEHIND CALL_SIDE("1b")
#elif defined(SIDE_SHORT_BEHIND)
#define BEHIND FUNCTION("side") "mov $16, %edi\njmp 1b\n" END("side")
#elif defined(SIDE_ADDRESS)
#define BEHIND FUNCTION("side") "mov $16, %edi\nlea 1b(%rip), %rax\njmp *%rax\n" END("side")
#elif defined(SIDE_CALL_BEFORE) || defined(SIDE_SHORT) || defined(SIDE_CONDITION) || defined(SIDE_COUNT)
#define BEHIND
#else
#define BEHIND CALL_SIDE("malloc")
#endif

__asm__(".text\n.p2align 4\n" BEFORE FUNCTION(
	"malloc") "mov %rdi, %rdi\n1: push %rbx\nmov %rdi, %rbx\nsub $16, %rsp\ncall take\nadd $16, %rsp\npop %rbx\nret\n" END("malloc")
		BEHIND);

void *side(void);
void *malloc(size_t size);

void free(void *block) { __asm__ volatile("nop; nop; nop; nop; nop; nop" : : "r"(block)); }

void *calloc(size_t count, size_t size)
{
	void *block = malloc(count * size);

	__asm__ volatile("" : "+r"(block)); // or else it is calloc that is called
	return memset(block, 0, count * size);
}

void *realloc(void *old, size_t size)
{
	void *block = malloc(size);

	return old ? memmove(block, old, size) : block;
}

int main(void)
{
	const char *command;

	say_ready();
	while ((command = next_command())) {
		for (int i = 0; i < 100; i++) {
			memset(malloc(100), 1, 100);
			free(side());
		}
		puts("worked");
	}
	return 0;
}
