// SPDX-License-Identifier: Apache-2.0
// What is said of the peak of a heap (lib/peak.h), for the commands that look for it.
#ifndef HEAPSNAP_CLI_PEAK_TEXT_H
#define HEAPSNAP_CLI_PEAK_TEXT_H

#include "base/error.h"
#include "cli/options.h"
#include "lib/dump.h"

#include <stdint.h>

struct peak_file {
	const char *path; // borrowed
	uint64_t bytes;
	uint64_t looks, missed; // that have succeeded, and that have not
};

// One that is not the end: its headline and rows, and where it was written to. HS_ERROR_NO_MEMORY.
struct hs_error *peak_print(const struct options *options, const struct hs_dump_result *result,
			    const struct peak_file *file) HS_MUST_CHECK;

// Where the heap of the end, which is shown elsewhere, is the highest that was seen.
void peak_print_end(const struct options *options, const struct peak_file *file);

#endif
