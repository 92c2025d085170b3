// SPDX-License-Identifier: Apache-2.0
// Code that both sides know by sight. Pure.
#ifndef HEAPSNAP_UNWIND_ARCH_KNOWN_CODE_H
#define HEAPSNAP_UNWIND_ARCH_KNOWN_CODE_H

#include "unwind/freestanding.h"

// Whether the bytes before `end` are a call: E8 rel32, or FF /2 with its operand (Intel SDM volume 2, CALL; a prefix
// would only be further in front). pre: ARCH_CALL_MAX bytes can be read there.
#define ARCH_CALL_MAX 7u
static inline bool arch_ends_in_call(const uint8_t *end)
{
	if (end[-5] == 0xe8)
		return true;
	for (int size = 2; size <= 7; size++)
		if (end[-size] == 0xff && (end[1 - size] & 0x38) == 0x10)
			return true;
	return false;
}

// Whether `code` is where signal handlers return to: mov $15,%rax (or %eax); syscall. pre: ARCH_SIGRETURN_SIZE bytes
// can be read.
#define ARCH_SIGRETURN_SIZE 9u
static inline bool arch_is_sigreturn(const uint8_t *code)
{
	bool is_wide = code[0] == 0x48 && code[1] == 0xc7 && code[2] == 0xc0;
	const uint8_t *rest = code + (is_wide ? 3 : 1);

	return (is_wide || code[0] == 0xb8) && rest[0] == 15 && !rest[1] && !rest[2] && !rest[3] && rest[4] == 0x0f &&
	       rest[5] == 0x05;
}

#endif
