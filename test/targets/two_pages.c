// SPDX-License-Identifier: Apache-2.0
// A static program whose malloc and free begin two bytes before the end of a page: a jump there cannot be written at
// one instant, so attach must refuse, with the reason. Ends at end of input.
#include "no_libc.h"

#define FUNCTION(name)                                                                                                 \
	".p2align 12\n"                                                                                                \
	".skip 4094, 0xcc\n"                                                                                           \
	".globl " name "\n"                                                                                            \
	".type " name ", @function\n" name ": xor %eax, %eax\n"                                                        \
	"	xor %ecx, %ecx\n"                                                                                            \
	"	xor %edx, %edx\n"                                                                                            \
	"	xor %esi, %esi\n"                                                                                            \
	"	ret\n"                                                                                                       \
	".size " name ", . - " name "\n"

__asm__(".pushsection .text\n" FUNCTION("malloc") FUNCTION("free") ".popsection\n");
