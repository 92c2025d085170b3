// SPDX-License-Identifier: Apache-2.0
#include "base/available_memory.h"

#include "base/cleanup.h"
#include "base/io.h"

#include <stdlib.h>
#include <string.h>

uint64_t hs_available_memory(void)
{
	HS_CLEANUP_FREE char *text = NULL;
	size_t size;
	struct hs_error *error = hs_read_file("/proc/meminfo", 1 << 16, &text, &size);
	const char *line = error ? NULL : strstr(text, "MemAvailable:");

	hs_error_destroy(error);
	return line ? strtoull(line + strlen("MemAvailable:"), NULL, 10) * 1024 : UINT64_C(1) << 30;
}
