// SPDX-License-Identifier: Apache-2.0
// Which processes of the machine are attached, from their maps. Touches nothing.
#ifndef HEAPSNAP_ATTACH_SESSION_ATTACHED_LIST_H
#define HEAPSNAP_ATTACH_SESSION_ATTACHED_LIST_H

#include "attach/ptrace/late_threads.h"
#include "attach/region/sampling_settings.h"
#include "attach/region/thread_costs.h"
#include "base/error.h"
#include "base/process.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct attached_process {
	pid_t pid;
	char name[32];         // comm
	uint32_t state;        // enum region_state; 0 = its region cannot be read, or there is none
	bool has_leftovers;    // there is no region, only the rest of an attach or detach that was killed
			       // (attach/session/leftovers.h)
	bool has_idle_hooks;   // there is no region, only hooks that do nothing, inherited from an attached parent
			       // (attach/session/inherited.h)
	struct late_call late; // one that a thread may still have to make for a tool that was killed
	char reason[240];      // why it cannot be read
	uint64_t attached_wall_ns;
	uint32_t hooks, hooks_refused;
	uint32_t unseen_makers;                  // of `hooks_refused`: functions that make blocks
	bool counts_untracked;                   // each untracked free since attach (region_counts_untracked)
	uint64_t threads, modules;               // seen since attach
	uint64_t lost_no_thread_pointer;         // allocations, by threads without a thread pointer
	uint64_t used_pages, max_pages;          // of the region
	uint32_t thread_slots, max_thread_slots; // ever taken; that there may be in a region of this size
	uint32_t depth;                          // frames kept of a stack
	bool has_settings;                       // false: what the region says of them makes no sense
	struct sampling_settings sampling;
	uint64_t settings_wall_ns; // since when they are in force
	struct thread_costs costs;
};

// Fills *ret, which owns nothing, for one process. HS_ERROR_NOT_FOUND: not attached, and nothing of ours in it; but
// something may come yet if ret->late.tid is set. HS_ERROR_REFUSED: it is a thread's number,
// or the tool may not look at it.
struct hs_error *attached_examine(const struct process *process, struct attached_process *ret) HS_MUST_CHECK;

// Every attached process whose maps may be read. *list_ret is owned by the caller (free). *hidden_ret: how many
// processes there are whose maps could not be read, mostly because they are another user's: no error. HS_ERROR_SYSTEM:
// /proc cannot be read; HS_ERROR_REFUSED: the tool may not open enough files; HS_ERROR_NO_MEMORY.
struct hs_error *attached_list(struct attached_process **list_ret, size_t *count_ret, size_t *hidden_ret) HS_MUST_CHECK;

#endif
