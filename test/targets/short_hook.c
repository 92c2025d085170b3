// SPDX-License-Identifier: Apache-2.0
// Brings a valloc of three bytes, which cannot be hooked, beside the usual allocator, which can. Each line of input: 10 blocks of 64 bytes.
#include <stdio.h>
#include <stdlib.h>

__asm__(".pushsection .text\n"
	".globl valloc\n"
	".type valloc, @function\n"
	"valloc: xor %eax, %eax\n"
	"	ret\n"
	".size valloc, . - valloc\n"
	".globl after_valloc\n"
	".type after_valloc, @function\n"
	"after_valloc: mov $7, %eax\n"
	"	ret\n"
	".size after_valloc, . - after_valloc\n"
	".popsection\n");

extern int after_valloc(void);

static void *volatile kept[10];

static __attribute__((noipa)) void site_short_hook(void)
{
	for (int i = 0; i < 10; i++)
		kept[i] = malloc(64);
}

int main(void)
{
	static char output_buffer[4096], input_buffer[256];
	char line[64];

	setvbuf(stdout, output_buffer, _IOLBF, sizeof(output_buffer));
	setvbuf(stdin, input_buffer, _IOFBF, sizeof(input_buffer));
	puts("ready");
	while (fgets(line, sizeof(line), stdin)) {
		site_short_hook();
		puts(after_valloc() == 7 && !valloc(1) ? "allocated" : "broken");
	}
	return 0;
}
