// SPDX-License-Identifier: Apache-2.0
// The memory limit of the cgroup that a process is in.
#ifndef HEAPSNAP_ATTACH_PROCESS_MEMORY_GROUP_H
#define HEAPSNAP_ATTACH_PROCESS_MEMORY_GROUP_H

#include "base/process.h"

#include <stdbool.h>
#include <stdint.h>

struct memory_group {
	unsigned version; // of the cgroups: 1 or 2; 0 = no limit
	uint64_t limit;   // bytes, of the group (its own or one above it) that leaves least; UINT64_MAX = none
	uint64_t used;    // bytes there, page cache with it
	uint64_t cache;   // of these, bytes of files that nobody has used for a while: given up before the limit hurts
			  // anybody
};

// What is left below the limit, with the old page cache: a group that reads files is at its limit all the time.
// UINT64_MAX = no limit.
uint64_t memory_group_room(const struct memory_group *group);

// Never fails: what cannot be read is no limit.
void memory_group_read(const struct process *process, struct memory_group *ret);

// The same from the text of /proc/PID/cgroup, below another place than /sys/fs/cgroup.
void memory_group_read_below(const char *mount, const char *text, struct memory_group *ret);

#endif
