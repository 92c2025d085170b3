// SPDX-License-Identifier: Apache-2.0
// For static programs without libc: their beginning, which says "ready", gives back each byte of its input, and ends at
// end of input.
#ifndef TARGETS_NO_LIBC_H
#define TARGETS_NO_LIBC_H

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

	system_call(1, 1, "ready\n", 6);         // write
	while (system_call(0, 0, &byte, 1) == 1) // read
		system_call(1, 1, &byte, 1);
	for (;;)
		system_call(231, 0, 0, 0); // exit_group
}

#endif
