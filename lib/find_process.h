// SPDX-License-Identifier: Apache-2.0
// Which process the user means.
#ifndef HEAPSNAP_LIB_FIND_PROCESS_H
#define HEAPSNAP_LIB_FIND_PROCESS_H

#include "base/error.h"
#include "base/process.h"

#include <stdbool.h>

// Pure: whether the text is a process id as users type it: decimal, positive, nothing behind it.
bool hs_pid_is_number(const char *text);

// The process of an id as users type it. HS_ERROR_NOT_FOUND: it is no number; where the text is the name of running
// programs, the message lists their PIDs. The process need not be there: what is asked of the handle then says so. *ret
// is to be closed, after an error too.
struct hs_error *hs_find_process(const char *text, struct process *ret) HS_MUST_CHECK;

#endif
