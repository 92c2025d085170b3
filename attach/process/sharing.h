// SPDX-License-Identifier: Apache-2.0
// What memory_sharers.h and descriptor_sharers.h have in common: which processes share nothing with the target, and for
// those that may, the search and the wait.
#ifndef HEAPSNAP_ATTACH_PROCESS_SHARING_H
#define HEAPSNAP_ATTACH_PROCESS_SHARING_H

#include "attach/process/descent.h"
#include "base/error.h"
#include "base/process.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { HS_STRANGERS_TABLES_MAX = 16 };

// What need not be opened under the freeze, listed before it: no process begins to share another's memory or
// descriptors after its birth. What may share them is in neither set, and neither is a process with a thread that was
// gone when it was asked about: it may have handed its table on to a process that is made after the listing.
struct strangers {
	pid_t pid;                           // of the target
	struct pid_set apart;                // have other memory than the target, and other descriptors than `tids`
	pid_t tids[HS_STRANGERS_TABLES_MAX]; // threads of the target; the first is that of process_live_thread
	size_t count;
	// Processes of which the kernel did not say whether they are apart: it has no kcmp(2), a filter forbids it, or
	// they are other users'. It may yet say so of one that gives up its privileges, so under the freeze it is asked
	// again: one call for each.
	struct pid_set untold;
	// Of the processes that are not in `apart`: what is made later by others, and by those whom they make, is apart
	// as well (descent.h).
	struct pid_set ancestors;
	bool knows_ancestors;
};
// `tids`: threads with descriptors of their own, of which as many are taken as there is room for.
void strangers_list(const struct process *process, const pid_t *tids, size_t count, struct strangers *ret);
void strangers_deinit(struct strangers *strangers);
// Whether `apart` also holds for the descriptors of `tid`: true where it shares the table of one of strangers.tids now.
// A thread joins an existing table only by being born into it (clone(2)), so the table is the one that was asked about,
// or was made since.
bool strangers_know(const struct strangers *strangers, pid_t tid);

enum { HS_SHARERS_WAIT_MS = 2000 }; // how long attach and detach wait

// Of two threads: 0 = the same memory, positive = another, negative = not permitted, gone, no such call, or no answer
// in time (attach/guard/task_compare.h).
long sharing_compare_memory(pid_t tid, pid_t other_tid);

struct sharing {
	const struct process *process;
	const pid_t *tids; // of `process`: one for each memory or table of descriptors that is asked for
	size_t count;
	const struct strangers *strangers; // NULL = each is asked
	bool (*shares)(const struct process *other, pid_t tid, const void *sharing);
	struct hs_error *(*refuse)(const struct process *process, pid_t other); // says that `other` shares it
	// Of the search; nothing to be set by the caller.
	struct hs_error *error; // ends it: interrupted
	long *untold;           // what the kernel says of strangers->untold now
	struct descent descent;
};

// The error of `refuse`, when a process shares it. HS_ERROR_GONE, HS_ERROR_INTERRUPTED (see interrupt.h).
// HS_ERROR_REFUSED also where the kernel did not say in time whether one does.
struct hs_error *sharing_check(struct sharing *sharing) HS_MUST_CHECK;

// One round: waits, until `deadline` (CLOCK_MONOTONIC, ns), for those that share it at its beginning. Errors as of
// sharing_check. *again_ret: another one is needed. After a short one those still there began during it, so none has
// been there for long.
struct hs_error *sharing_wait_once(struct sharing *sharing, uint64_t deadline, bool *again_ret) HS_MUST_CHECK;

#endif
