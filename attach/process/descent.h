// SPDX-License-Identifier: Apache-2.0
// Which new processes cannot share anything with the target, told by whose children they are. /proc/PID/status says
// that at once; kcmp(2) may have to wait (attach/guard/task_compare.h).
//
// A process shares memory or descriptors with another by its birth only. So one that shares them with the target, and
// was born since a listing, was made by one that shared them then, or by one that was made by such a one. Its parent is
// whoever made it, or that one's parent (CLONE_PARENT), or, when they have ended, an ancestor of theirs (a subreaper)
// or the first process of a PID namespace: find_new_reaper in kernel/exit.c. It never is a process that shared nothing
// then and was no ancestor of one that did.
#ifndef HEAPSNAP_ATTACH_PROCESS_DESCENT_H
#define HEAPSNAP_ATTACH_PROCESS_DESCENT_H

#include "attach/process/pid_set.h"

// The ancestors of all processes that are not in `apart`. False: they cannot be told, because processes are hidden or
// came and went too fast; *ret is empty then. The caller deinitializes it.
bool ancestors_list(const struct pid_set *apart, struct pid_set *ret);

// A search among new processes under a freeze, that of the caller's making: it keeps what it has found of parents, so
// that most cost one read. Both sets are borrowed: `apart`, and the ancestors that were listed after it.
struct descent {
	const struct pid_set *apart, *ancestors;
	struct pid_set strangers, others; // parents that are known; owned
};

// Whether the process, which was not there when `apart` was listed, comes from one of `apart` that is in none of
// `ancestors`. False also where that would take more than some reads to find out.
bool descent_is_strangers(struct descent *descent, pid_t pid);
void descent_deinit(struct descent *descent);

#endif
