// SPDX-License-Identifier: Apache-2.0
// What a detach shows, for other commands that make one.
#ifndef HEAPSNAP_CLI_DETACH_H
#define HEAPSNAP_CLI_DETACH_H

#include "base/json.h"
#include "cli/options.h"
#include "lib/detach.h"

#include <sys/types.h>

enum { DETACH_WAIT_MS = 10000 }; // of hs_detach

// One line; what is not as it should be is said with -q too.
void detach_print_outcome(const struct options *options, const struct hs_detach_result *result, pid_t pid);
// One line for each check: all of them, or those alone that do not hold.
void detach_print_checks(const struct options *options, const struct hs_detach_result *result, pid_t pid, bool all);
// The fields of the object.
void detach_put_json(struct json *json, const struct hs_detach_result *result);

#endif
