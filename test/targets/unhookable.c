// SPDX-License-Identifier: Apache-2.0
// A static program whose malloc and free are too short for a jump: attach must refuse, with the reason. Ends at end of
// input.
#include "no_libc.h"

__asm__(".pushsection .text\n"
	".globl malloc\n"
	".type malloc, @function\n"
	"malloc: xor %eax, %eax\n"
	"	ret\n"
	".size malloc, . - malloc\n"
	".globl free\n"
	".type free, @function\n"
	"free:	ret\n"
	".size free, . - free\n"
	".globl follows\n"
	".type follows, @function\n"
	"follows: mov $7, %eax\n"
	"	ret\n"
	".size follows, . - follows\n"
	".popsection\n");
