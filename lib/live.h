// SPDX-License-Identifier: Apache-2.0
// To look at a process again and again while it runs, without stopping it.
#ifndef HEAPSNAP_LIB_LIVE_H
#define HEAPSNAP_LIB_LIVE_H

#include "base/error.h"
#include "base/process.h"
#include "lib/attach.h"
#include "lib/detach.h"
#include "views/growth.h"
#include "views/profile_view.h"

#include <stdbool.h>
#include <stdint.h>

struct hs_live_options {
	struct hs_attach_options attach; // where the process is not attached already
	const struct frame_rules *rules; // borrowed
	unsigned detach_wait_ms;         // as of hs_detach
};

struct hs_live {
	const struct process *process; // borrowed, and so are the options
	const struct hs_live_options *options;
	bool was_attached; // before: then it is left so
	bool is_stopped;   // then: nothing new is recorded
	bool has_look;     // one has succeeded; what follows is of the last one
	struct heap_profile profile;
	struct profile_view view;
	struct growth_series series; // of the last looks
	struct growth growth;        // of these; these four point into one another
	uint64_t cost_ns;            // what the last look took
	uint64_t began_ns;           // CLOCK_MONOTONIC
	int64_t first_ns;            // since the attach, of the series's first look
};

// *ret is the caller's and must stay where it is; hs_live_end ends what has begun. On failure the process is as it was.
// Errors as of hs_attach.
struct hs_error *hs_live_begin(const struct process *process, const struct hs_live_options *options,
			       struct hs_live *ret) HS_MUST_CHECK;

// Copies what is recorded while the process runs, and looks at it. HS_ERROR_REFUSED, HS_ERROR_TIMEOUT: the last look is
// still there, and the next one may do better: another heapsnap is at work there, or this copy cannot be made without
// stopping the process. After other errors it can only be ended; HS_ERROR_INTERRUPTED: a signal (lib/tool.h) came.
struct hs_error *hs_live_look(struct hs_live *live) HS_MUST_CHECK;

// Whether a look that has failed may be tried again.
bool hs_live_may_pass(const struct hs_error *error);

// Detaches where hs_live_begin has attached, whatever `error` is, which this takes over; NULL = none. A signal that has
// come before has ended the looks and nothing else. Returns what has failed, in words of the process's end where that
// is why; *detach_ret is filled where it was detached.
struct hs_error *hs_live_end(struct hs_live *live, struct hs_error *error,
			     struct hs_detach_result *detach_ret) HS_MUST_CHECK;

#endif
