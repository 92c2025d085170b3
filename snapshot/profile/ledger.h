// SPDX-License-Identifier: Apache-2.0
// The ledger: what was seen, and everything that was not. Pure.
#ifndef HEAPSNAP_SNAPSHOT_PROFILE_LEDGER_H
#define HEAPSNAP_SNAPSHOT_PROFILE_LEDGER_H

#include "base/error.h"
#include "snapshot/heap_profile.h"
#include "snapshot/profile/aggregate.h"

// Fills the ledger of a profile. On failure the caller deinits *profile.
// HS_ERROR_NO_MEMORY.
struct hs_error *ledger_build(const struct table_view *view, const struct aggregate *aggregate,
			      struct heap_profile *profile) HS_MUST_CHECK;

// A line for a module whose symbol files could not be read; both texts are copied. HS_ERROR_NO_MEMORY.
struct hs_error *ledger_add_symbols_lost(struct heap_profile *profile, const char *path,
					 const char *reason) HS_MUST_CHECK;

// A line that says which code has no names, and what would name it. `text` is taken over. HS_ERROR_NO_MEMORY.
struct hs_error *ledger_add_symbols_missing(struct heap_profile *profile, char *text) HS_MUST_CHECK;

#endif
