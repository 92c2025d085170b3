// SPDX-License-Identifier: Apache-2.0
// To watch a process for a while, and say why it grows: attach, dump several times, detach, judge.
#ifndef HEAPSNAP_LIB_WATCH_H
#define HEAPSNAP_LIB_WATCH_H

#include "base/error.h"
#include "base/process.h"
#include "lib/attach.h"
#include "lib/detach.h"
#include "lib/dump.h"
#include "views/growth.h"
#include "views/profile_view.h"
#include "views/verdict.h"

#include <stdbool.h>
#include <stdint.h>

struct hs_watch_options {
	struct hs_attach_options attach; // where the process is not attached already
	const struct frame_rules *rules; // borrowed
	uint64_t time_ns;                // from the first cut to the last
	unsigned detach_wait_ms;         // as of hs_detach
	// Paths as of hs_dump: the last cut's profile, and its page; NULL = none.
	const char *output, *page;
	enum profile_format format; // of output
	bool errors, no_cache;      // as of hs_dump
	struct debuginfod *debuginfod;
};

enum hs_watch_end {
	HS_WATCH_COMPLETE,
	HS_WATCH_INTERRUPTED,   // by a signal
	HS_WATCH_PROCESS_ENDED, // what was seen before is judged
	HS_WATCH_PROCESS_LEFT   // it has executed another program, or was detached by another command: likewise
};

struct hs_watch_result {
	struct heap_profile profile; // of the last cut
	struct profile_view view;    // of that
	struct growth_series series; // these point into one another
	struct growth growth;
	struct verdict verdict;
	bool was_attached; // before: then it is left so
	enum hs_watch_end end;
	bool has_detached;              // not where it was attached before, or has ended
	struct hs_detach_result detach; // then
	uint64_t output_bytes, page_bytes;
};

// Cuts as of lib/cut_times.h, the first one at once; of the profiles only the last is kept. What it has attached it
// detaches, whatever has failed. A first signal ends the watch: a last cut is taken then, unless it came in one. What
// comes after that ends the work, as it does in hs_profile. Outputs are tried before the process is touched. *ret is
// the caller's, must stay where it is, and on failure is empty. HS_ERROR_REFUSED: nothing new is recorded there, say;
// HS_ERROR_GONE: the process has ended, or executed another program, before the first cut; others as of hs_attach,
// hs_dump and hs_detach.
struct hs_error *hs_watch(const struct process *process, const struct hs_watch_options *options,
			  struct hs_watch_result *ret) HS_MUST_CHECK;
void hs_watch_result_deinit(struct hs_watch_result *result);

#endif
