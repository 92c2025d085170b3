// SPDX-License-Identifier: Apache-2.0
// Which of the recorded blocks belong to a selection. Each answer is proven by the records; what cannot be told is said
// to be so. Pure.
#ifndef HEAPSNAP_SNAPSHOT_PROFILE_RECORD_FILTER_H
#define HEAPSNAP_SNAPSHOT_PROFILE_RECORD_FILTER_H

#include "base/error.h"
#include "snapshot/block_selection.h"
#include "snapshot/copy/table_check.h"
#include "snapshot/profile/birth_line.h"
#include "snapshot/profile/thread_names.h"

enum filter_answer { FILTER_IN, FILTER_OUT, FILTER_UNDECIDED };

struct record_filter {
	bool is_used;            // false: every block is in
	struct birth_line older; // to be born before; without `last`: not asked for
	struct birth_line below; // to be born after
	struct birth_line since; // likewise
	uint32_t epoch_least;    // to be recorded in it or later
	uint64_t size_least;     // bytes
	bool *threads;           // owned; by thread, HS_THREAD_HISTORY_MAX of them; NULL = any
};

// `now`: ticks of the snapshot. *ret is the caller's after success. HS_ERROR_NOT_FOUND: no thread of that id or name
// has been seen, or the dump that it should be younger than is of another attach; HS_ERROR_BAD_DATA: nonsense in the
// header; HS_ERROR_NO_MEMORY.
struct hs_error *record_filter_init(const struct table_view *view, const struct block_selection *selection,
				    const struct thread_names *names, uint64_t now,
				    struct record_filter *ret) HS_MUST_CHECK;
void record_filter_deinit(struct record_filter *filter); // zeroed ones are allowed

// Whether all blocks are to be noted before the first is judged.
bool record_filter_looks_first(const struct record_filter *filter);
void record_filter_note(struct record_filter *filter, const struct block_record *record);
enum filter_answer record_filter_judge(const struct record_filter *filter, const struct block_record *record);

#endif
