// SPDX-License-Identifier: Apache-2.0
// Which namespaces of a process differ from the tool's.
#ifndef HEAPSNAP_ATTACH_PROCESS_NAMESPACES_H
#define HEAPSNAP_ATTACH_PROCESS_NAMESPACES_H

#include "base/process.h"

// X(name): the links in /proc/PID/ns, namespaces(7)
#define HS_NAMESPACES(X) X(cgroup) X(ipc) X(mnt) X(net) X(pid) X(time) X(user) X(uts)

enum namespace_kind {
#define X(name) NAMESPACE_##name,
	HS_NAMESPACES(X)
#undef X
		NAMESPACE_COUNT
};

enum namespace_answer { NAMESPACE_UNKNOWN, NAMESPACE_SAME, NAMESPACE_DIFFERS };

// Unknown: the kernel does not have it, or shows it only to who may trace the process.
void namespaces_read(const struct process *process, enum namespace_answer ret[NAMESPACE_COUNT]);

const char *namespace_name(enum namespace_kind kind);

#endif
