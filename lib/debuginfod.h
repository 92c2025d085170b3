// SPDX-License-Identifier: Apache-2.0
// To ask servers of debuginfod for debug information that is missing here, where that is wanted.
#ifndef HEAPSNAP_LIB_DEBUGINFOD_H
#define HEAPSNAP_LIB_DEBUGINFOD_H

#include "base/error.h"

#include <stdint.h>

#define HS_DEBUGINFOD_TIME UINT64_C(90000000000) // ns, where none is given

// For all that one command reads: what no server had is not asked for twice. `time_ns`: the longest for one file, 0 =
// the default. *ret is owned by the caller. HS_ERROR_REFUSED: no server is named (DEBUGINFOD_URLS), the program
// debuginfod-find is not installed, or there is no folder for what it fetches; HS_ERROR_NO_MEMORY.
struct debuginfod;
struct hs_error *hs_debuginfod_begin(uint64_t time_ns, struct debuginfod **ret) HS_MUST_CHECK;
void hs_debuginfod_end(struct debuginfod *debuginfod);

#endif
