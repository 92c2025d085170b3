// SPDX-License-Identifier: Apache-2.0
// What a watch has found, for programs.
#ifndef HEAPSNAP_CLI_WHY_JSON_H
#define HEAPSNAP_CLI_WHY_JSON_H

#include "cli/options.h"
#include "lib/watch.h"

// One object on standard output; false when it cannot be written.
bool why_print_json(const struct options *options, const struct hs_watch_result *result);

#endif
