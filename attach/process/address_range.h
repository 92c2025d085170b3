// SPDX-License-Identifier: Apache-2.0
// A range of addresses in the target. What lies within the region is a struct region_part: counted from its start, and
// of a layout that both sides share.
#ifndef HEAPSNAP_ATTACH_PROCESS_ADDRESS_RANGE_H
#define HEAPSNAP_ATTACH_PROCESS_ADDRESS_RANGE_H

#include <stdint.h>

struct address_range {
	uint64_t address, size; // bytes; size 0 = none
};

#endif
