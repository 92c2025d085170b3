// SPDX-License-Identifier: Apache-2.0
// A static program whose malloc and free begin two bytes before the end of a page: a jump there cannot be written at one instant, so attach must
// refuse, with the reason. Ends at end of input.
static long system_call(long number, long a, const void *b, long c)
{
	long result;

	__asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return result;
}

#define FUNCTION(name)                    \
	".p2align 12\n"                   \
	".skip 4094, 0xcc\n"              \
	".globl " name "\n"               \
	".type " name ", @function\n"     \
	name ": xor %eax, %eax\n"         \
	"	xor %ecx, %ecx\n"         \
	"	xor %edx, %edx\n"         \
	"	xor %esi, %esi\n"         \
	"	ret\n"                    \
	".size " name ", . - " name "\n"

__asm__(".pushsection .text\n" FUNCTION("malloc") FUNCTION("free") ".popsection\n");

_Noreturn void _start(void);

_Noreturn void _start(void)
{
	char byte;

	system_call(1, 1, "ready\n", 6);
	while (system_call(0, 0, &byte, 1) == 1)
		system_call(1, 1, &byte, 1);
	for (;;)
		system_call(231, 0, 0, 0);
}
