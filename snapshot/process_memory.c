// SPDX-License-Identifier: Apache-2.0
#include "snapshot/process_memory.h"

#include "base/cleanup.h"
#include "base/proc_status.h"

// Bytes; UINT64_MAX = there is no such line. The kernel counts in KiB.
static uint64_t bytes_of(const char *status, const char *key)
{
	uint64_t kib = proc_status_number(status, key, 10, UINT64_MAX);

	return kib > UINT64_MAX >> 10 ? UINT64_MAX : kib << 10;
}

struct profile_memory process_memory_parse(const char *status)
{
	struct profile_memory memory = {
		.is_known = true,
		.rss = bytes_of(status, "VmRSS:"),
		.anonymous = bytes_of(status, "RssAnon:"),
		.swapped = bytes_of(status, "VmSwap:"),
		.peak = bytes_of(status, "VmHWM:"),
	};

	if (memory.rss == UINT64_MAX || memory.anonymous == UINT64_MAX || memory.swapped == UINT64_MAX)
		return (struct profile_memory){ 0 };
	if (memory.peak == UINT64_MAX)
		memory.peak = 0;
	return memory;
}

struct profile_memory process_memory_read(const struct process *process)
{
	HS_CLEANUP_FREE char *status = NULL;
	struct hs_error *error = process_read_live_file(process, "status", &status, NULL);
	struct profile_memory memory = { 0 };

	if (!error)
		memory = process_memory_parse(status);
	hs_error_destroy(error);
	return memory;
}
