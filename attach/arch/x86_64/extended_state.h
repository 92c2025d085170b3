// SPDX-License-Identifier: Apache-2.0
// The registers that no system call needs: x87, vectors, masks, tiles, protection keys (the XSAVE area).
#ifndef HEAPSNAP_ATTACH_ARCH_EXTENDED_STATE_H
#define HEAPSNAP_ATTACH_ARCH_EXTENDED_STATE_H

#include <stdint.h>

// Where each component lies in the uncompacted XSAVE format: CPUID leaf 0xD. size 0 = the processor has none.
struct extended_layout {
	uint32_t offset[64], size[64]; // bytes; [0] and [1] (x87, SSE) are the legacy area and not used
	uint32_t total;                // bytes of the largest area
};

// The processor's; the same for the tool and the target.
void arch_read_extended_layout(struct extended_layout *ret);

#endif
