// SPDX-License-Identifier: Apache-2.0
// As of aarch64: BL and BLR; MOV X8, #139 and SVC #0.
#ifndef HEAPSNAP_UNWIND_ARCH_KNOWN_CODE_H
#define HEAPSNAP_UNWIND_ARCH_KNOWN_CODE_H

#include "unwind/freestanding.h"

#define ARCH_CALL_MAX 4u
static inline bool arch_ends_in_call(const uint8_t *end)
{
	return (end[-1] & 0xfc) == 0x94 || (end[-1] == 0xd6 && end[-2] == 0x3f);
}

#define ARCH_SIGRETURN_SIZE 8u
static inline bool arch_is_sigreturn(const uint8_t *code)
{
	return code[0] == 0x68 && code[1] == 0x11 && code[2] == 0x80 && code[3] == 0xd2 && code[4] == 0x01 &&
	       code[7] == 0xd4;
}

#endif
