// SPDX-License-Identifier: Apache-2.0
#include "attach/process/namespaces.h"

#include "base/cleanup.h"

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

void namespaces_read(const struct process *process, enum namespace_answer ret[NAMESPACE_COUNT])
{
	HS_CLEANUP_CLOSE int folder = process_live_folder(process);

	for (int kind = 0; kind < NAMESPACE_COUNT; kind++) {
		struct stat own, other;
		char path[64];

		snprintf(path, sizeof(path), "/proc/self/ns/%s", namespace_name((enum namespace_kind)kind));
		ret[kind] = NAMESPACE_UNKNOWN;
		if (stat(path, &own) != 0)
			continue;
		snprintf(path, sizeof(path), "ns/%s", namespace_name((enum namespace_kind)kind));
		if (folder >= 0 && fstatat(folder, path, &other, 0) == 0)
			ret[kind] = own.st_ino == other.st_ino && own.st_dev == other.st_dev ? NAMESPACE_SAME
											     : NAMESPACE_DIFFERS;
	}
}
