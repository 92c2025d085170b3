// SPDX-License-Identifier: Apache-2.0
// To write the live heap of an attached process.
#ifndef HEAPSNAP_LIB_DUMP_H
#define HEAPSNAP_LIB_DUMP_H

#include "base/error.h"
#include "base/process.h"
#include "lib/profile_format.h"
#include "snapshot/block_selection.h"
#include "snapshot/heap_profile.h"
#include "views/profile_view.h"
#include "views/verdict.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_dump_options {
	// Path of the profile, borrowed; "-" = standard output; NULL = none is written.
	const char *output;
	enum profile_format format;
	struct view_options view;      // of the result; rules NULL = none is made, and nothing but pprof can be written
	struct block_selection blocks; // which ones, and what is said of them
	bool errors;                   // label each stack with its number of samples and its standard errors
	bool stop;                     // stop all threads while the table is copied
	bool from_start;               // nothing was allocated before the attach
	uint64_t peak_looks;           // as in heap_profile
	bool no_cache;                 // names of code are read anew, and not kept on disk
	struct debuginfod *debuginfod; // asked for debug files (lib/debuginfod.h), borrowed; NULL = none is
};

struct hs_dump_result {
	struct heap_profile profile;
	struct profile_view view; // of it
	uint64_t file_bytes;      // written; of pprof compressed
	uint64_t stopped_ns;      // for how long threads were stopped; 0 = none was
	uint64_t copy_ns, symbolize_ns, total_ns;
};

// The file has the whole profile, whatever the filter of the view is; it is there whole or not at all, and is tried
// before the process is touched. *ret is the caller's, and stays where it is; on failure it is empty.
// HS_ERROR_NOT_FOUND: not attached, or the selection names a thread or an attach that is not there.
struct hs_error *hs_dump(const struct process *process, const struct hs_dump_options *options,
			 struct hs_dump_result *ret) HS_MUST_CHECK;

// The same of what was copied before (lib/run.h), once. The copy stays the caller's, and is empty then. Errors:
// HS_ERROR_BAD_DATA: the region holds nonsense; and those of hs_dump_write. Its blocks are those that it was
// selected for.
struct heap_copy;
struct hs_error *hs_dump_copied(struct heap_copy *copy, const struct hs_dump_options *options,
				struct hs_dump_result *ret) HS_MUST_CHECK;
// Whether a profile could be written there now: the error of hs_dump before it touches the process. NULL: none is to
// be.
struct hs_error *hs_dump_check_output(const char *path, enum profile_format format) HS_MUST_CHECK;

void hs_dump_result_deinit(struct hs_dump_result *result);

// What a watch adds to a page. All borrowed.
struct hs_story_point {
	double seconds; // since the first one
	uint64_t rss;   // bytes
	int64_t live;   // bytes recorded
};
struct hs_story {
	const struct verdict *verdict;
	const struct hs_story_point *points; // in order of time
	size_t point_count;
};

// Writes a profile that is there already, to options->output, as hs_dump does. `story` is for a page; NULL = none.
// *bytes_ret: as hs_dump_result.file_bytes. HS_ERROR_SYSTEM, HS_ERROR_REFUSED: it cannot be written;
// HS_ERROR_NO_MEMORY.
struct hs_error *hs_dump_write(const struct named_profile *named, const struct hs_dump_options *options,
			       const struct hs_story *story, uint64_t *bytes_ret) HS_MUST_CHECK;

#endif
