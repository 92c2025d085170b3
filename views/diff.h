// SPDX-License-Identifier: Apache-2.0
// What is different between two profiles: of two moments of one process, of two processes, or of two files. Pure.
//
// Stacks are compared by what their code is (views/profile_merge.h).
//
// Errors: the variances of both sides add up, as those of independent estimates do. Two dumps of one attach are not
// independent: blocks that live in both are the same records, and their errors cancel out. So the error that is said is
// too large there rather than too small.
#ifndef HEAPSNAP_VIEWS_DIFF_H
#define HEAPSNAP_VIEWS_DIFF_H

#include "base/error.h"
#include "snapshot/heap_profile.h"

// How two profiles belong together. Where a profile does not say its process or when it was attached to (0), both of
// the first two are false.
struct diff_facts {
	bool of_one_attach;   // errors are said too large
	bool of_two_attaches; // what is older than its attach is in neither: the difference is not all that changed
	// One may be exact and the other an estimate; then all the error is the estimate's.
	bool old_is_estimate, new_is_estimate;
};

struct diff_facts diff_facts_of(const struct heap_profile *old, const struct heap_profile *new);

struct profile_diff {
	// Values are new - old, and may be below 0; stacks without any difference are left out, also those whose
	// variances are not 0. `total` is the difference of the totals, with the variances of all stacks. Of the new
	// one are: program, pid, time, mean interval, what was stopped. duration_ns is the time between the two, 0 =
	// not known. The ledger has the lines of both, with the larger value where both have one. interval_most is such
	// that profile_bytes_error() is that of a difference.
	struct heap_profile profile;
	struct diff_facts facts;
};

// *ret is owned by the caller; nothing of it belongs to the others. HS_ERROR_NO_MEMORY. pre: the indices in both
// profiles are of something, but for modules and mappings, where UINT32_MAX is none.
struct hs_error *profile_diff_make(const struct heap_profile *old, const struct heap_profile *new,
				   struct profile_diff *ret) HS_MUST_CHECK;
// The same, where a stack is one for each of these labels (bits of enum merge_label), which its samples have then.
struct hs_error *profile_diff_make_by(const struct heap_profile *old, const struct heap_profile *new, unsigned labels,
				      struct profile_diff *ret) HS_MUST_CHECK;
void profile_diff_deinit(struct profile_diff *diff);

#endif
