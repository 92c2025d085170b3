// SPDX-License-Identifier: Apache-2.0
// How much memory the whole process has.
#ifndef HEAPSNAP_CLI_MEMORY_TEXT_H
#define HEAPSNAP_CLI_MEMORY_TEXT_H

#include "cli/options.h"
#include "snapshot/heap_profile.h"

// A line: `before`, and " RSS 398.0 MiB (anonymous 391.2 MiB)".
void memory_print(const struct options *options, const char *before, const struct profile_memory *memory);

#endif
