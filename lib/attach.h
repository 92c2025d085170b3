// SPDX-License-Identifier: Apache-2.0
// To start recording in a process.
#ifndef HEAPSNAP_LIB_ATTACH_H
#define HEAPSNAP_LIB_ATTACH_H

#include "base/error.h"
#include "base/process.h"
#include "lib/sampling.h"
#include "lib/user_allocators.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_attach_options {
	uint32_t depth;      // frames kept of a stack; 0 = default
	uint64_t max_memory; // bytes that the region may use; 0 = a share of what is free
	struct hs_sampling sampling;
	struct hs_user_allocators allocators;
};

struct hs_attach_result {
	size_t hooks, hooks_refused; // allocation functions
	size_t unseen_functions;     // of those refused, such that make blocks
	size_t modules, threads;
	size_t unseen_threads;   // of these, such that nothing is recorded of: they have no thread pointer
	uint64_t stopped_all_ns; // for how long threads were stopped, over all tries
	uint64_t region_bytes;   // that records may use
	bool loader_followed;    // false: libraries loaded later will not be seen
	bool is_static;          // there is no dynamic loader, and so no library loaded later
};

// On failure the process is as it was, and *ret is not filled. HS_ERROR_GONE: it has ended.
struct hs_error *hs_attach(const struct process *process, const struct hs_attach_options *options,
			   struct hs_attach_result *ret) HS_MUST_CHECK;

#endif
