// SPDX-License-Identifier: Apache-2.0
// Encodings: Intel SDM volume 2, "PUSH", "POP", "SYSCALL", "XCHG", "RET".
#include "attach/arch/raise_code.h"

#include "attach/arch/code_step.h"
#include "attach/arch/instruction.h"

#include <string.h>
#include <sys/syscall.h>

#define PUSH    0x6a // a byte, with its sign
#define POP_RAX 0x58
#define POP_RSI 0x5e
#define SYSCALL 0x0f, 0x05

enum { SIGNAL = 7, RAISED = 14 }; // offsets

// A mark for indirect branches is left out: the loader's calls are direct ones.
static const uint8_t CODE[] = {
	PUSH,    SYS_getpid, // 0
	POP_RAX,             // 2
	SYSCALL,             // 3
	0x97,                // 5: xchg edi, eax
	PUSH,    0,          // 6: the signal
	POP_RSI,             // 8
	PUSH,    SYS_kill,   // 9
	POP_RAX,             // 11
	SYSCALL,             // 12
	0xc3,                // 14
};
_Static_assert(sizeof(CODE) <= RAISE_CODE_SIZE, "it fits");
_Static_assert(SYS_getpid < 128 && SYS_kill < 128, "they are not negative");

// What a compiler or linker puts between functions: never executed.
static bool is_filling(const uint8_t *code, size_t size)
{
	struct instruction instruction;

	for (size_t at = 0; at < size; at += instruction.decoded.length) {
		if (!instruction_decode(code + at, size - at, at, &instruction) ||
		    (instruction.decoded.mnemonic != ZYDIS_MNEMONIC_NOP &&
		     instruction.decoded.mnemonic != ZYDIS_MNEMONIC_INT3))
			return false;
	}
	return true;
}

bool arch_raise_code(const uint8_t function[RAISE_CODE_SIZE], int signal, uint8_t ret[RAISE_CODE_SIZE])
{
	size_t end = arch_landing_pad(function, RAISE_CODE_SIZE);
	struct instruction instruction;

	if (signal <= 0 || signal >= 128 ||
	    !instruction_decode(function + end, RAISE_CODE_SIZE - end, end, &instruction) ||
	    !instruction_is_plain_return(&instruction))
		return false;
	end += instruction.decoded.length;
	if (end > sizeof(uint64_t) || !is_filling(function + end, RAISE_CODE_SIZE - end))
		return false;
	memcpy(ret, function, RAISE_CODE_SIZE);
	memcpy(ret, CODE, sizeof(CODE));
	ret[SIGNAL] = (uint8_t)signal;
	return true;
}

bool arch_raise_code_has_raised(uint64_t offset) { return offset == RAISED; }

uint64_t arch_raise_code_pushed(uint64_t offset) { return offset == 2 || offset == 8 || offset == 11 ? 8 : 0; }
