// SPDX-License-Identifier: Apache-2.0
// A private copy of the region, taken while every thread of the target is stopped.
#ifndef HEAPSNAP_SNAPSHOT_TABLE_COPY_H
#define HEAPSNAP_SNAPSHOT_TABLE_COPY_H

#include "attach/region_access.h"
#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct table_copy {
	uint8_t *bytes;  // `size` bytes, laid out as the region; parts of the region that were never written read as 0
	uint64_t size;
	uint64_t copied; // bytes that were really copied
	uint64_t room;   // bytes that may be copied
};

// Copies what the region holds. Needs memory for the written part only.
struct hs_error *table_copy_take(const struct region_access *access, struct table_copy *ret) HS_MUST_CHECK;
void table_copy_deinit(struct table_copy *copy);

#endif
