// SPDX-License-Identifier: Apache-2.0
// To compare two profiles that were written before.
#ifndef HEAPSNAP_LIB_DIFF_H
#define HEAPSNAP_LIB_DIFF_H

#include "base/error.h"
#include "lib/profile_format.h"
#include "views/block_attributes.h"
#include "views/diff.h"
#include "views/profile_view.h"

#include <stdint.h>

struct hs_diff_options {
	const char *old_path, *new_path; // pprof files; "-" = standard input
	const char *output;              // where the difference goes, as in lib/dump.h; NULL = nowhere
	enum profile_format format;
	struct view_options view; // of all three
	// What rows are to be by, which both files have to say then; the difference has it as a label. NULL = frames.
	const struct sample_attribute *by;
};

struct hs_diff_result {
	struct heap_profile old, new;
	struct profile_view old_view, new_view;
	struct profile_diff difference; // new - old
	struct profile_view view;       // of the difference
	uint64_t file_bytes;            // written; of pprof compressed
};

// The file has all of the difference, whatever the filter of the view is, and where it is an estimate, its standard
// errors; it is there whole or not at all. *ret is the caller's, and stays where it is; on failure it is empty. Errors
// as of hs_read_profile, and as of a file that cannot be written; HS_ERROR_NOT_FOUND: a file does not say `by`.
struct hs_error *hs_diff(const struct hs_diff_options *options, struct hs_diff_result *ret) HS_MUST_CHECK;
void hs_diff_result_deinit(struct hs_diff_result *result);

#endif
