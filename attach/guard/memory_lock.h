// SPDX-License-Identifier: Apache-2.0
// The tool's own memory is kept resident while a target stands still: a page that must be fetched from a disk, a
// network or a file system that the target itself serves would keep the target waiting.
//
// As far as the tool's rights reach (CAP_IPC_LOCK, RLIMIT_MEMLOCK); never an error. Code and data from files are
// fetched at once. The rest is locked as it is touched and never populated: views of regions are many GiB of holes.
#ifndef HEAPSNAP_ATTACH_GUARD_MEMORY_LOCK_H
#define HEAPSNAP_ATTACH_GUARD_MEMORY_LOCK_H

void memory_lock(void);
void memory_unlock(void);

#endif
