// SPDX-License-Identifier: Apache-2.0
// To write the live heap of an attached process.
#ifndef HEAPSNAP_LIB_DUMP_H
#define HEAPSNAP_LIB_DUMP_H

#include "base/error.h"
#include "base/process.h"
#include "snapshot/heap_profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_dump_options {
	const char *output; // path of the profile; "-" = standard output; borrowed
	bool errors;        // label each stack with its number of samples and its standard errors
	bool stop;          // stop all threads while the table is copied
};

// Where the program asked for memory: the innermost frame that is not the allocator's.
struct hs_dump_site {
	char *function; // owned; "module+0x1234" where there is no symbol
	char *callers;  // owned; up to three, innermost first, along the stack that holds most, "a < b < c"; "" = none
	const char *file; // borrowed from the profile; "" = unknown
	int64_t line;     // 0 = unknown
	int64_t live_objects, live_bytes, alloc_objects, alloc_bytes;
	uint64_t live_records;                         // recorded blocks that the live values are made of
	uint64_t live_objects_error, live_bytes_error; // standard errors; 0 = exact
};

struct hs_dump_result {
	struct heap_profile profile;
	struct hs_dump_site *sites; // by live bytes, most first
	size_t site_count;
	uint64_t live_objects_error, live_bytes_error; // of the profile's totals; 0 = exact
	uint64_t file_bytes;                           // written, compressed
	uint64_t stopped_ns;                           // for how long threads were stopped; 0 = none was
	uint64_t copy_ns, symbolize_ns, total_ns;
};

// The file is there whole or not at all, and is tried before the process is touched. On failure *ret is empty.
struct hs_error *hs_dump(const struct process *process, const struct hs_dump_options *options,
			 struct hs_dump_result *ret) HS_MUST_CHECK;
void hs_dump_result_deinit(struct hs_dump_result *result);

#endif
