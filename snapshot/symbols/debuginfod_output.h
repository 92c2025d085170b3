// SPDX-License-Identifier: Apache-2.0
// What debuginfod-find writes while it works: progress, and why it failed. Pure.
#ifndef HEAPSNAP_SNAPSHOT_SYMBOLS_DEBUGINFOD_OUTPUT_H
#define HEAPSNAP_SNAPSHOT_SYMBOLS_DEBUGINFOD_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DEBUGINFOD_OUTPUT_MAX = 1024 };

// Zeroed = nothing was heard yet.
struct debuginfod_output {
	char text[DEBUGINFOD_OUTPUT_MAX + 1]; // the end of what was heard
	size_t size;
};

void debuginfod_output_add(struct debuginfod_output *output, const char *bytes, size_t size);

// Bytes that have come, and of how many, 0 = not known: "Downloading from HOST 300/1000". False: it says none.
bool debuginfod_output_progress(const struct debuginfod_output *output, uint64_t *done_ret, uint64_t *total_ret);

// The last line that says something, in the text of `output`, which is changed for it; "" = none.
const char *debuginfod_output_reason(struct debuginfod_output *output);

#endif
