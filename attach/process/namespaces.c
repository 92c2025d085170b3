// SPDX-License-Identifier: Apache-2.0
#include "attach/process/namespaces.h"

#include "base/live_thread.h"

#include <stdio.h>
#include <sys/stat.h>

const char *namespace_name(enum namespace_kind kind)
{
	static const char *const names[NAMESPACE_COUNT] = {
#define X(name) #name,
		HS_NAMESPACES(X)
#undef X
	};

	return names[kind];
}

void namespaces_read(pid_t pid, enum namespace_answer ret[NAMESPACE_COUNT])
{
	pid_t thread = hs_live_thread(pid);

	for (int kind = 0; kind < NAMESPACE_COUNT; kind++) {
		struct stat own, other;
		char path[64];

		snprintf(path, sizeof(path), "/proc/self/ns/%s", namespace_name((enum namespace_kind)kind));
		ret[kind] = NAMESPACE_UNKNOWN;
		if (stat(path, &own) != 0)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)thread, namespace_name((enum namespace_kind)kind));
		if (stat(path, &other) == 0)
			ret[kind] = own.st_ino == other.st_ino && own.st_dev == other.st_dev ? NAMESPACE_SAME
											     : NAMESPACE_DIFFERS;
	}
}
