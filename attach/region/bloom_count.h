// SPDX-License-Identifier: Apache-2.0
// The counting Bloom filter (inject/table/bloom_filter.h), counted anew from the tables of blocks. Everything that a
// table names is checked.
#ifndef HEAPSNAP_ATTACH_REGION_BLOOM_COUNT_H
#define HEAPSNAP_ATTACH_REGION_BLOOM_COUNT_H

#include "attach/region/region_access.h"
#include "attach/region/table_walk.h"
#include "base/error.h"
#include "inject/abi/payload_header.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// More records than that are not counted: it would take too long, and leave few counters at 0 (docs/design.md, Changing
// the settings).
#define BLOOM_RECORDS_MAX (1u << 18)

// A reallocation under way: its old record is in no entry of the tables, but will be put back there or given back.
struct pending_record {
	uint64_t address;
	uint32_t ref;
};

struct bloom_count {
	uint8_t counters[HS_BLOOM_SIZE];
	uint64_t records;         // that were counted
	bool is_too_much;         // the counting was given up
	struct table_pages pages; // of the region, that are handed out
	uint8_t (*marks)[16];     // of each of these pages, a bit for each record that is counted
};

// Counts; changes nothing. `header` is that of the region now, checked.
// pre: every thread of the target is stopped outside of the payload.
struct hs_error *bloom_count_records(const struct region_access *region, const struct region_header *header,
				     const struct pending_record *pending, size_t pending_count,
				     struct bloom_count *ret) HS_MUST_CHECK;
void bloom_count_deinit(struct bloom_count *count);

// Says in each record that was counted that it is.
struct hs_error *bloom_mark_records(const struct region_access *region, const struct bloom_count *count) HS_MUST_CHECK;

#endif
