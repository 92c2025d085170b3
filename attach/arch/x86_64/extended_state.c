// SPDX-License-Identifier: Apache-2.0
#include "attach/arch/extended_state.h"

#include <cpuid.h>
#include <string.h>

void arch_read_extended_layout(struct extended_layout *ret)
{
	unsigned size, offset, largest, flags;

	memset(ret, 0, sizeof(*ret));
	__cpuid_count(0xd, 0, size, offset, largest, flags);
	ret->total = largest;
	for (unsigned i = 2; i < 63; i++) {
		__cpuid_count(0xd, i, size, offset, largest, flags);
		ret->size[i] = size;
		ret->offset[i] = offset;
	}
}
