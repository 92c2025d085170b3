// SPDX-License-Identifier: Apache-2.0
// What is missing from a profile, in a sentence. Pure.
#ifndef HEAPSNAP_VIEWS_COMPLETENESS_H
#define HEAPSNAP_VIEWS_COMPLETENESS_H

#include "base/error.h"
#include "snapshot/heap_profile.h"

// "Nothing lost.", or "Incomplete: " and the losses of the ledger: stacks that end early, of how many and why, then the
// others; at most three, and how many more there are; or that another program's file does not say. *is_complete_ret:
// there are none. *ret is owned by the caller. HS_ERROR_NO_MEMORY.
struct hs_error *completeness_text(const struct heap_profile *profile, bool *is_complete_ret, char **ret) HS_MUST_CHECK;

// Which code of stripped files nothing names, and which package would: "code without symbols: 3 places in libx.so
// (package libx-dbgsym)". NULL = the profile does not say so. Borrowed from the profile.
const char *unnamed_code_of(const struct heap_profile *profile);

#endif
