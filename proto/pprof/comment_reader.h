// SPDX-License-Identifier: Apache-2.0
// The comments that pprof_comments.h writes, read back. Pure.
#ifndef HEAPSNAP_PROTO_PPROF_COMMENT_READER_H
#define HEAPSNAP_PROTO_PPROF_COMMENT_READER_H

#include "base/error.h"
#include "snapshot/heap_profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Zeroed at the start.
struct comment_reader {
	uint32_t seen;   // bit i: a comment of that kind was read; of two that contradict each other the first counts
	bool has_errors; // of the totals, both
	char **wrappers; // names of functions; owned
	size_t wrapper_count, wrapper_room;
	bool is_exact; // of what is live nothing stands for blocks that were not recorded
};

// Whether a comment says that heapsnap has written the profile: the first one does.
bool comment_is_ours(const char *text, size_t size);

// How many lines of the ledger a comment may become, at most.
size_t comment_lines_max(const char *text, size_t size);

// Into the profile: program, name, pid, the stop (its reason is kept when it is a known one), intervals, is_difference,
// is_estimate, of the totals live_records and variances (squares of the errors, which were rounded up and are never
// below those of one interval), and lines of the ledger. Of these is_loss says no more than that something was lost,
// and is_fact is not in a file of the first heapsnap. Texts are fit to be shown (base/printable.h), at most four times
// as long as the comment. Other comments are left. Those of the first heapsnap, with each of these alone in one, are
// read as well. HS_ERROR_NO_MEMORY.
struct hs_error *comment_read(struct comment_reader *reader, const char *text,
			      struct heap_profile *profile) HS_MUST_CHECK;

// Marks the locations of the functions that were said to be wrappers. To be called when all is read; sorts the names.
void comment_mark_wrappers(struct comment_reader *reader, struct heap_profile *profile);
void comment_reader_deinit(struct comment_reader *reader);

// Variances are squares of at most this: sums and products of them stay numbers.
#define PPROF_ERROR_MAX 1125899906842624.0 // 2^50
static inline double pprof_variance(double error)
{
	double bounded = error < PPROF_ERROR_MAX ? error : PPROF_ERROR_MAX;

	return bounded > 0 ? bounded * bounded : 0;
}

#endif
