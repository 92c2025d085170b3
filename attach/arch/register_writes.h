// SPDX-License-Identifier: Apache-2.0
// Which registers one instruction changes.
#ifndef HEAPSNAP_ATTACH_ARCH_REGISTER_WRITES_H
#define HEAPSNAP_ATTACH_ARCH_REGISTER_WRITES_H

#include "attach/arch/register_bits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct register_writes {
	register_bits general; // of whatever part of it
	register_bits pushed;  // put on the stack by a push, so too
	register_bits popped;  // taken from it by a pop; among `general` as well
	bool has_vectors;      // has to do with a vector register or the like, or with their state
};

// Pure. Bytes that are no instruction change nothing.
void register_writes_decode(const uint8_t *code, size_t size, struct register_writes *ret);

#endif
