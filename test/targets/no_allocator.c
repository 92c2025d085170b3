// SPDX-License-Identifier: Apache-2.0
// A static program without libc and without an allocator: there is nothing to hook. Ends at end of input.
static long system_call(long number, long a, const void *b, long c)
{
	long result;

	__asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return result;
}

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
