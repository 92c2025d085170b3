// SPDX-License-Identifier: Apache-2.0
// Why a function is not hooked, in words.
#ifndef HEAPSNAP_ATTACH_HOOK_HOOK_VERDICT_H
#define HEAPSNAP_ATTACH_HOOK_HOOK_VERDICT_H

#include "inject/abi/records.h"

// Both static. Of a value that is no verdict: "unknown" and "unknown reason".
const char *hook_verdict_name(enum hook_verdict verdict);
const char *hook_verdict_text(enum hook_verdict verdict);

#endif
