// SPDX-License-Identifier: Apache-2.0
// As of aarch64: 13 words, and one so that 16 divides their size.
#ifndef HEAPSNAP_INJECT_ARCH_ENTRY_FRAME_H
#define HEAPSNAP_INJECT_ARCH_ENTRY_FRAME_H

#include "unwind/cfi.h"

struct entry_frame {
	uint64_t unused, saved[10], fp, return_address;
};

bool arch_hook_runs(uint64_t place, uint64_t called, uint64_t code, uint64_t code_size);

static inline void arch_entry_registers(const struct entry_frame *entry, uint64_t values[CFI_REGISTERS])
{
	for (unsigned i = 0; i < 10; i++)
		values[CFI_X19 + i] = entry->saved[i];
	values[CFI_FP] = entry->fp;
	values[CFI_SP] = (uint64_t)(&entry->return_address + 1);
	values[CFI_RA] = entry->return_address;
}

struct hook_island;

struct call_frame {
	uint64_t result[2];   // x0 and x1
	uint64_t changed[16]; // x2 to x17
	const struct hook_island *island;
	uint64_t before; // x0
	uint64_t arguments[6];
	struct entry_frame entry;
};

void arch_give_back_registers(struct call_frame *frame);
void arch_call(struct call_frame *frame, uint64_t function);

#endif
