// SPDX-License-Identifier: Apache-2.0
// Encodings: Intel SDM volume 2, "INT3", "MOV", "NOP", "RET", "SYSCALL".
#include "attach/arch/guarded_trap.h"

#include "attach/arch/code_step.h"
#include "attach/arch/instruction.h"

#include <signal.h>
#include <string.h>
#include <sys/syscall.h>

#define INT3 0xcc
#define RET  0xc3

enum { PAST = 1, CALL = 2, RESTORER = 4 };

// ret; ret; syscall; mov eax, rt_sigreturn; syscall
static const uint8_t IDLE[] = { RET, RET, 0x0f, 0x05, 0xb8, SYS_rt_sigreturn, 0, 0, 0, 0x0f, 0x05 };

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

bool arch_guarded_trap(const uint8_t code[GUARDED_TRAP_SIZE], struct guarded_trap *ret)
{
	const size_t pad = arch_landing_pad(code, GUARDED_TRAP_SIZE);
	struct instruction instruction;

	if (pad + sizeof(IDLE) > GUARDED_TRAP_SIZE ||
	    !instruction_decode(code + pad, GUARDED_TRAP_SIZE - pad, pad, &instruction) ||
	    !instruction_is_plain_return(&instruction))
		return false;
	if (!is_filling(code + pad + instruction.decoded.length, GUARDED_TRAP_SIZE - pad - instruction.decoded.length))
		return false;
	memcpy(ret->idle, code, GUARDED_TRAP_SIZE);
	memcpy(ret->idle + pad, IDLE, sizeof(IDLE));
	memcpy(ret->set, ret->idle, GUARDED_TRAP_SIZE);
	ret->set[pad] = INT3;
	ret->past = pad + PAST;
	ret->call = pad + CALL;
	ret->restorer = pad + RESTORER;
	return true;
}

// struct kernel_sigaction, arch/x86/include/uapi/asm/signal.h. On an alternate stack, if there is one: a Go program's
// threads may have little room elsewhere.
void arch_kernel_sigaction(uint64_t handler, uint64_t restorer, uint8_t ret[HS_KERNEL_SIGACTION_SIZE])
{
	const struct {
		uint64_t handler, flags, restorer, mask;
	} action = { handler, 0x04000000u /* SA_RESTORER */ | SA_SIGINFO | SA_ONSTACK | SA_RESTART, restorer, 0 };

	_Static_assert(sizeof(action) == HS_KERNEL_SIGACTION_SIZE, "struct kernel_sigaction");
	memcpy(ret, &action, sizeof(action));
}
