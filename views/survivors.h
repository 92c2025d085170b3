// SPDX-License-Identifier: Apache-2.0
// Which blocks of an earlier snapshot are live in a later one of the same attach. Pure.
//
// A snapshot that stops no thread begins an epoch, and each record has that of its time: all that is live in the later
// one and is of an older epoch than the earlier one's was live in that as well, to the block.
#ifndef HEAPSNAP_VIEWS_SURVIVORS_H
#define HEAPSNAP_VIEWS_SURVIVORS_H

#include "base/error.h"
#include "snapshot/heap_profile.h"

// Leaves in `new` what was live in `old`, as a selection. HS_ERROR_BAD_DATA: they are not of one attach, or do not say
// it; one of them is a part or a difference; `old` is not the earlier one; HS_ERROR_NO_MEMORY. Then `new` is unchanged.
struct hs_error *survivors_keep(const struct heap_profile *old, struct heap_profile *new) HS_MUST_CHECK;

#endif
