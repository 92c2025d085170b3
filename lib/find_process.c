// SPDX-License-Identifier: Apache-2.0
#include "lib/find_process.h"

#include "attach/process/target.h"

struct hs_error *hs_find_process(const char *text, pid_t *ret) { return target_parse_pid(text, ret); }
