// SPDX-License-Identifier: Apache-2.0
#include "base/available_memory.h"

#include "base/cleanup.h"
#include "base/io.h"

#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>

// Bytes; `missing` where the file does not say it.
static uint64_t of_meminfo(const char *name, uint64_t missing)
{
	HS_CLEANUP_FREE char *text = NULL;
	size_t size;
	struct hs_error *error = hs_read_file("/proc/meminfo", 1 << 16, &text, &size);
	const char *line = error ? NULL : strstr(text, name);

	hs_error_destroy(error);
	return line ? strtoull(line + strlen(name), NULL, 10) * 1024 : missing;
}

uint64_t hs_available_memory(void) { return of_meminfo("MemAvailable:", UINT64_C(1) << 30); }

// vm.overcommit_memory; 0 = unknown.
static char overcommit_mode(void)
{
	HS_CLEANUP_FREE char *mode = NULL;
	size_t size;
	struct hs_error *error = hs_read_file("/proc/sys/vm/overcommit_memory", 16, &mode, &size);

	hs_error_destroy(error);
	return error ? 0 : *mode;
}

uint64_t hs_mapping_most(void)
{
	struct sysinfo info; // of the machine, also where /proc/meminfo is a container's

	if (overcommit_mode() != '0' || sysinfo(&info) != 0)
		return UINT64_MAX;
	return ((uint64_t)info.totalram + info.totalswap) * info.mem_unit;
}

uint64_t hs_commit_room(void)
{
	uint64_t limit, taken;

	if (overcommit_mode() != '2')
		return UINT64_MAX;
	limit = of_meminfo("\nCommitLimit:", 0);
	taken = of_meminfo("\nCommitted_AS:", 0);
	return limit > taken ? limit - taken : 0;
}
