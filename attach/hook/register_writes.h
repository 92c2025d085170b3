// SPDX-License-Identifier: Apache-2.0
// Which registers one instruction changes.
#ifndef HEAPSNAP_ATTACH_HOOK_REGISTER_WRITES_H
#define HEAPSNAP_ATTACH_HOOK_REGISTER_WRITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct register_writes {
	uint16_t general; // a bit each, in the order of their encoding: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 to
			  // r15. Of whatever part of it
	uint16_t pushed;  // put on the stack by a push, so too
	uint16_t popped;  // taken from it by a pop; among `general` as well
	bool has_vectors; // has to do with a vector, mask, tile or x87 register, or with their state
};

// Those that a called function need not keep (psABI, "Registers"): rax, rcx, rdx, rsi, rdi, r8 to r11.
#define HS_SCRATCH_REGISTERS UINT16_C(0x0fc7)

// Pure. Bytes that are no instruction change nothing.
void register_writes_decode(const uint8_t *code, size_t size, struct register_writes *ret);

#endif
