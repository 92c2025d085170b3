// SPDX-License-Identifier: Apache-2.0
// The cgroups of a process, and whether one of them is frozen (cgroups(7);
// Documentation/admin-guide/cgroup-v2.rst, cgroup.freeze; cgroup-v1/freezer-subsystem.rst). Threads of a frozen group
// run nothing, not even what a tracer has them do.
#ifndef HEAPSNAP_ATTACH_PROCESS_CGROUP_H
#define HEAPSNAP_ATTACH_PROCESS_CGROUP_H

#include "base/process.h"

#include <stdbool.h>
#include <stddef.h>

#define FROZEN_TEXT_SIZE 512u

// Pure: the group's path in the text of /proc/PID/cgroup; `controller` is one of version 1, NULL means version 2. It is
// not terminated. False: none.
bool cgroup_path(const char *text, const char *controller, const char **ret, size_t *size_ret);

// Why the process does not run: the file that says that its group, or one above, is frozen, and what it says. "" = it
// is not frozen, as far as can be seen.
void cgroup_frozen(const struct process *process, char ret[static FROZEN_TEXT_SIZE]);
// With the folder in which the groups are mounted, and the text of /proc/PID/cgroup.
void cgroup_frozen_below(const char *mount, const char *text, char ret[static FROZEN_TEXT_SIZE]);

// Pure: shortens a path of `*size` bytes to that of the group above; the topmost one's size is 0. False = there is none
// above.
bool cgroup_go_up(const char *path, size_t *size);

#endif
