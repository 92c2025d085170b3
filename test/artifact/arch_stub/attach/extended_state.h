// SPDX-License-Identifier: Apache-2.0
// As of aarch64.
#ifndef HEAPSNAP_ATTACH_ARCH_EXTENDED_STATE_H
#define HEAPSNAP_ATTACH_ARCH_EXTENDED_STATE_H

#include <stdint.h>

struct extended_layout {
	uint32_t total;
};

void arch_read_extended_layout(struct extended_layout *ret);

#endif
