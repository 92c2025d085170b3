// SPDX-License-Identifier: Apache-2.0
// The comments of a profile: what was measured, how exactly, and the ledger.
#ifndef HEAPSNAP_PROTO_PPROF_PPROF_COMMENTS_H
#define HEAPSNAP_PROTO_PPROF_PPROF_COMMENTS_H

#include "base/error.h"
#include "base/string_table.h"
#include "snapshot/heap_profile.h"

#include <stddef.h>
#include <stdint.h>

// Beside those of the ledger, a line each.
enum { PPROF_COMMENTS_MAX = 11 };

// Adds each comment to `strings` and its index there to `ids`, which has room for source->ledger_count +
// PPROF_COMMENTS_MAX; *count_ret of them. HS_ERROR_NO_MEMORY.
struct hs_error *pprof_comments_add(const struct heap_profile *source, struct string_table *strings, int64_t *ids,
				    size_t *count_ret) HS_MUST_CHECK;

#endif
