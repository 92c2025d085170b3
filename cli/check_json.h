// SPDX-License-Identifier: Apache-2.0
// The result of `check` as JSON: the fields that heapsnap(1) describes. It may grow; no field goes or changes its
// meaning.
#ifndef HEAPSNAP_CLI_CHECK_JSON_H
#define HEAPSNAP_CLI_CHECK_JSON_H

#include "lib/check.h"

#include <stdbool.h>

// On standard output. Returns false when that failed.
bool check_print_json(const struct hs_check_result *result);

#endif
