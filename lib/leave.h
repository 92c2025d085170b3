// SPDX-License-Identifier: Apache-2.0
// The way into a process that a command looks at for a while, and out of it.
#ifndef HEAPSNAP_LIB_LEAVE_H
#define HEAPSNAP_LIB_LEAVE_H

#include "base/error.h"
#include "base/process.h"
#include "lib/attach.h"
#include "lib/detach.h"

#include <stdbool.h>
#include <stdint.h>

struct hs_entry {
	bool was_attached; // before: then it is to be left so
	bool is_stopped;   // then: nothing new is recorded there
};

// Attaches, unless that is so already. What else it may have (an unfinished attach, say), attach deals with. On failure
// it is as it was. Errors as of hs_attach.
struct hs_error *hs_enter(const struct process *process, const struct hs_attach_options *options,
			  struct hs_entry *ret) HS_MUST_CHECK;

// Whether `error` (NULL = none) says that the process has ended, or has nothing of heapsnap in it any more.
bool hs_leave_is_nothing_left(const struct hs_error *error);

// Detaches, after `error` (NULL = none), which this takes over; a signal that has ended what failed does not end this
// too. Returns both errors joined; a process that has ended is no second one. *ret is filled where it is detached.
struct hs_error *hs_leave(const struct process *process, struct hs_error *error, unsigned wait_ms,
			  struct hs_detach_result *ret) HS_MUST_CHECK;

// What is wrong with a dump of a process that was attached, where nothing of heapsnap is found in it any more, or it
// has ended: in words that say since when. Takes `error` over, which is none of these as a rule, and then returned.
struct hs_error *hs_leave_explain(const struct process *process, struct hs_error *error,
				  uint64_t attached_for_ns) HS_MUST_CHECK;

#endif
