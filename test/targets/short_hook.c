// SPDX-License-Identifier: Apache-2.0
// Brings a posix_memalign of three bytes, which cannot be hooked, beside the usual allocator, which can. Each line of
// input: 10 blocks of 64 bytes.
#include <stdio.h>
#include <stdlib.h>

#include "commands.h"

__asm__(".pushsection .text\n"
	".globl posix_memalign\n"
	".type posix_memalign, @function\n"
	"posix_memalign: xor %eax, %eax\n"
	"	ret\n"
	".size posix_memalign, . - posix_memalign\n"
	".globl after_short\n"
	".type after_short, @function\n"
	"after_short: mov $7, %eax\n"
	"	ret\n"
	".size after_short, . - after_short\n"
	".popsection\n");

extern int after_short(void);

static void *volatile kept[10];

static __attribute__((noipa)) void site_short_hook(void)
{
	for (int i = 0; i < 10; i++)
		kept[i] = malloc(64);
}

int main(void)
{

	say_ready();
	while (next_command()) {
		site_short_hook();
		puts(after_short() == 7 && !posix_memalign((void **)kept, 8, 1) ? "allocated" : "broken");
	}
	return 0;
}
