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

// Whether the process, which was not there when `apart` was listed, comes from one of `apart` that is in none of
// `ancestors`, a list made after it.
bool descends_from_stranger(pid_t pid, const struct pid_set *apart, const struct pid_set *ancestors);

#endif
