// SPDX-License-Identifier: Apache-2.0
#ifndef HEAPSNAP_UNWIND_MEMORY_SPAN_H
#define HEAPSNAP_UNWIND_MEMORY_SPAN_H

#include "unwind/freestanding.h"

// Readable memory [address, address + size), found at `bytes`. In the payload bytes == (const uint8_t *)address; of a
// section of a file address is 0.
struct memory_span {
	const uint8_t *bytes;
	uint64_t address;
	uint64_t size;
};

#endif
