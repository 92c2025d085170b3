// SPDX-License-Identifier: Apache-2.0
#include "lib/debuginfod.h"

#include "snapshot/symbols/debuginfod.h"

struct hs_error *hs_debuginfod_begin(uint64_t time_ns, struct debuginfod **ret)
{
	return debuginfod_open(time_ns ? time_ns : HS_DEBUGINFOD_TIME, ret);
}

void hs_debuginfod_end(struct debuginfod *debuginfod) { debuginfod_close(debuginfod); }
