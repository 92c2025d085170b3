// SPDX-License-Identifier: Apache-2.0
// How much memory a process has. Touches nothing.
#ifndef HEAPSNAP_SNAPSHOT_PROCESS_MEMORY_H
#define HEAPSNAP_SNAPSHOT_PROCESS_MEMORY_H

#include "base/process.h"
#include "snapshot/heap_profile.h"

// Of a text of /proc/PID/status. Pure. Without the lines (a kernel thread, before Linux 4.5) it is not known.
struct profile_memory process_memory_parse(const char *status);

// is_known is false where the process cannot be read.
//
// /proc/PID/smaps_rollup has the same, exact to the page, but walks all page tables with the lock held that the
// process's own mmap and munmap wait for (show_smaps_rollup in fs/proc/task_mmu.c). The counters cost the process
// nothing.
struct profile_memory process_memory_read(const struct process *process);

#endif
