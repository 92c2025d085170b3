// SPDX-License-Identifier: Apache-2.0
// What the entries (entry.S) leave on the stack for the C code.
#ifndef HEAPSNAP_INJECT_ARCH_ENTRY_FRAME_H
#define HEAPSNAP_INJECT_ARCH_ENTRY_FRAME_H

#include "unwind/cfi.h"

// What a hook's entry pushed, lowest address first. `return_address` is where the caller of the hooked function goes
// on; its own stack pointer there is the address just above.
struct entry_frame {
	uint64_t r15, r14, r13, r12, rbx, fp, return_address;
};

// What entry.S leaves on the stack while a hook runs whose return address lies at `place`: its own return address out
// of the hook's C code, at one of these distances below, by the kind of entry (free, fast paths, calling hooks, general
// hooks). Whatever it calls has its return address further down still, so nothing at `called` or below is looked at.
// pre: what lies between the two can be read.
static inline bool arch_hook_runs(uint64_t place, uint64_t called, uint64_t code, uint64_t code_size)
{
	static const uint8_t distances[] = { 32, 48, 96, 208 };

	for (unsigned i = 0; i < sizeof(distances); i++)
		if (place - called > distances[i] && *(const uint64_t *)(place - distances[i]) - code < code_size)
			return true;
	return false;
}

// The values of all registers that a walk knows at the hook's entry, where its caller goes on.
static inline void arch_entry_registers(const struct entry_frame *entry, uint64_t values[CFI_REGISTERS])
{
	values[CFI_RBX] = entry->rbx;
	values[CFI_FP] = entry->fp;
	values[CFI_R12] = entry->r12;
	values[CFI_R13] = entry->r13;
	values[CFI_R14] = entry->r14;
	values[CFI_R15] = entry->r15;
	values[CFI_SP] = (uint64_t)(&entry->return_address + 1);
	values[CFI_RA] = entry->return_address;
}

struct hook_island;

// What the entry of a generic kind pushed, lowest address first.
struct call_frame {
	uint64_t result[2];  // rax and rdx after the original
	uint64_t changed[7]; // rcx, rsi, rdi, r8 to r11 after it: what its caller gets
	const struct hook_island *island;
	uint64_t before;       // rax before, as all that follows: of one that returns, the result
	uint64_t arguments[6]; // rdi, rsi, rdx, rcx, r8, r9
	uint64_t r10, r11;
	struct entry_frame entry;
};

// Makes the registers that a caller gets, other than the result, what it had: for a function that has run in the place
// of the one that was called, and may have changed others.
static inline void arch_give_back_registers(struct call_frame *frame)
{
	frame->result[1] = frame->arguments[2];
	frame->changed[0] = frame->arguments[3];
	frame->changed[1] = frame->arguments[1];
	frame->changed[2] = frame->arguments[0];
	frame->changed[3] = frame->arguments[4];
	frame->changed[4] = frame->arguments[5];
	frame->changed[5] = frame->r10;
	frame->changed[6] = frame->r11;
}

// Calls a function with all the registers that the frame holds; its results go into the frame. In entry.S.
void arch_call(struct call_frame *frame, uint64_t function) __attribute__((visibility("hidden")));

#endif
