// SPDX-License-Identifier: Apache-2.0
// The comments of a profile: what was measured, how exactly, and the ledger.
//
// pprof puts comments at the head of each report, but those that begin with # only where it is asked for comments. So
// there are a few for people, and two for programs, which hold several parts each:
//
//   heapsnap: 0.1.0, PID 42
//   Estimates: inuse_space ± 4096 bytes, inuse_objects ± 12 (standard errors of the totals)
//   Incomplete: 3 of 18 stacks end early (no unwind information for a frame).
//   #process: program: app | pid: 42 | time: 2026-11-14T22:13:20Z | stopped_ns: 0 (...) | sampling_interval: ...
//   #ledger: allocations: 18 (blocks allocated) | LOSS: stack_cut_rules: 3 (stacks cut short: ...)
//
// A bar in a part is written twice. The process has also a part "wrapper: NAME" for each function that only allocates
// for its caller, by its code, but for names that another function has as well. Lines of the ledger that are 0 are not
// there; a fact has no number: "name (text)".
#ifndef HEAPSNAP_PROTO_PPROF_PPROF_COMMENTS_H
#define HEAPSNAP_PROTO_PPROF_PPROF_COMMENTS_H

#include "base/error.h"
#include "base/string_table.h"
#include "snapshot/heap_profile.h"

#include <stddef.h>
#include <stdint.h>

enum { PPROF_COMMENTS_MAX = 5, PPROF_PART_BAR = '|' };

#define PPROF_PROCESS_BEGINNING "#process: "
#define PPROF_LEDGER_BEGINNING  "#ledger: "
#define PPROF_PART_SEPARATOR    " | "

// Parts "wrapper: NAME" of the process: functions that only allocate for their caller, by their code. At most so many.
enum { PPROF_WRAPPERS_MAX = 256 };
#define PPROF_WRAPPER_BEGINNING "wrapper: "

// Adds each comment to `strings` and its index there to `ids`, which has room for PPROF_COMMENTS_MAX; *count_ret of
// them. `truth`: a sentence on what is missing; NULL = none is written. HS_ERROR_NO_MEMORY.
struct hs_error *pprof_comments_add(const struct heap_profile *source, const char *truth, struct string_table *strings,
				    int64_t *ids, size_t *count_ret) HS_MUST_CHECK;

#endif
