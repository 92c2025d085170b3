// SPDX-License-Identifier: Apache-2.0
// What heapsnap has in processes. Touches nothing.
#ifndef HEAPSNAP_LIB_STATUS_H
#define HEAPSNAP_LIB_STATUS_H

#include "base/error.h"
#include "base/process.h"
#include "lib/sampling.h"
#include "snapshot/heap_profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum hs_state {
	HS_STATE_ATTACHED,
	HS_STATE_ATTACH_UNFINISHED, // the tool was killed: the next attach or detach clears it away
	HS_STATE_DETACH_UNFINISHED,
	HS_STATE_LEFTOVERS,  // so too, of an attach or detach that has left less than a region
	HS_STATE_IDLE_HOOKS, // not attached, with hooks that do nothing, inherited from an attached parent
	HS_STATE_UNREADABLE, // `reason` says why
};

struct hs_status {
	pid_t pid;
	char name[32]; // comm
	enum hs_state state;
	char reason[240];             // HS_STATE_UNREADABLE
	struct profile_memory memory; // of the process; not of hs_status_list where it has ended meanwhile
	// What follows is 0 where there is no region that can be read.
	uint64_t attached_wall_ns; // CLOCK_REALTIME
	uint32_t hooks, hooks_refused;
	uint32_t unseen_functions;                // of those refused, such that make blocks
	char unseen_share[160];                   // in words, how much these make; "" = there are none
	bool counts_untracked;                    // of frees since attach, also those of other blocks
	uint64_t threads, modules;                // seen since attach
	uint64_t lost_no_thread_pointer;          // allocations, by threads without a thread pointer
	uint64_t used_bytes, max_bytes;           // of the region, whole pages
	uint32_t thread_slots_used, thread_slots; // ever taken; that there may be
	bool has_settings;                        // false: what the region says of them makes no sense
	struct hs_sampling sampling;              // in force
	uint32_t depth;                           // frames kept of a stack
	uint64_t settings_wall_ns;                // since when; CLOCK_REALTIME
	uint64_t interval_least, interval_most;   // bytes, of the threads that have allocated since; 0 = none has
	uint32_t threads_measured, cost_most;     // with a budget: within 10 s; the highest, millionths of its time
	uint32_t downsampled_to;                  // bytes, interval that records were brought to; 0 = none was
	bool is_downsampling;                     // this is being done now
	uint64_t frees, unknown_frees;            // of recorded blocks; of others
};

// HS_ERROR_NOT_FOUND: nothing of heapsnap is in the process, or there is no such process. HS_ERROR_REFUSED: it is
// a thread's number, or the tool may not look at it. *may_still_come_ret, which may be NULL, is true after the first
// where a thread may yet make a call for a tool that was killed.
struct hs_error *hs_status_read(const struct process *process, struct hs_status *ret,
				bool *may_still_come_ret) HS_MUST_CHECK;

// The same a moment later (0.3 s), for what the first frees after an attach tell of functions that are not hooked.
// Errors as of hs_status_read.
struct hs_error *hs_status_read_later(const struct process *process, struct hs_status *ret) HS_MUST_CHECK;

// Of every process of this machine that has something of heapsnap's in it and may be looked at. *list_ret is owned by
// the caller (free). *hidden_ret: processes that may not be looked at, mostly because they are another user's.
// *unlisted_ret: there may be more, which /proc does not list (processes_are_unlisted). HS_ERROR_SYSTEM: /proc cannot
// be read; HS_ERROR_REFUSED: the tool may not open enough files; HS_ERROR_NO_MEMORY.
struct hs_error *hs_status_list(struct hs_status **list_ret, size_t *count_ret, size_t *hidden_ret,
				bool *unlisted_ret) HS_MUST_CHECK;

#endif
