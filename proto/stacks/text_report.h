// SPDX-License-Identifier: Apache-2.0
// A profile for people to read, in any editor, without a limit to its width: what was recorded in all, what is missing,
// every site with the own code that led to it, and the ledger.
//
//   heapsnap report of shop (PID 4711), taken 2026-11-27T20:15:00Z
//     live         20.2 MiB  in 47,600 blocks (±5 %)
//     allocated     1.2 GiB  in 2,000,000 blocks; 20.5 MiB/s, 33,333 blocks/s
//
// What no terminal should get is escaped (base/printable.h).
#ifndef HEAPSNAP_PROTO_STACKS_TEXT_REPORT_H
#define HEAPSNAP_PROTO_STACKS_TEXT_REPORT_H

#include "base/error.h"
#include "views/named_profile.h"

#include <stdio.h>

// Writes to `file`, whose own errors are for the caller to see. HS_ERROR_NO_MEMORY.
struct hs_error *text_report_write(const struct named_profile *named, FILE *file) HS_MUST_CHECK;

#endif
