// SPDX-License-Identifier: Apache-2.0
// To change what an attached process records from now on.
#ifndef HEAPSNAP_LIB_SET_H
#define HEAPSNAP_LIB_SET_H

#include "base/error.h"
#include "base/process.h"
#include "lib/sampling.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_set_options {
	enum {
		HS_SET_KEEP,     // as it is
		HS_SET_SAMPLING, // as `sampling` says
		HS_SET_STOP,     // nothing new
		HS_SET_START,    // again what was recorded before
	} change;
	struct hs_sampling sampling;
	uint32_t depth; // frames kept of a stack; 0 = as before
};

// What is in force.
struct hs_settings {
	struct hs_sampling sampling;
	uint32_t depth;
};

struct hs_set_result {
	struct hs_settings before, after;
	size_t threads;
	uint64_t stopped_longest_ns; // longest single stop
	bool bloom_in_use;           // false: each release is looked up in the table
};

// HS_ERROR_NOT_FOUND: it is not attached. On failure *ret is not filled, and nothing is changed; or, where it failed
// half-way, old and new settings are mixed in a way that is right for every record, and another change puts it in
// order.
struct hs_error *hs_set(const struct process *process, const struct hs_set_options *options,
			struct hs_set_result *ret) HS_MUST_CHECK;

#endif
