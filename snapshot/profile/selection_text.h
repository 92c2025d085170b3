// SPDX-License-Identifier: Apache-2.0
// A selection in words. Pure.
#ifndef HEAPSNAP_SNAPSHOT_PROFILE_SELECTION_TEXT_H
#define HEAPSNAP_SNAPSHOT_PROFILE_SELECTION_TEXT_H

#include "base/error.h"
#include "snapshot/block_selection.h"

// "older than 10 s, of at least 4096 bytes"; fit to be shown. *ret is owned by the caller; NULL = all blocks.
// HS_ERROR_NO_MEMORY.
struct hs_error *selection_text(const struct block_selection *selection, char **ret) HS_MUST_CHECK;

#endif
