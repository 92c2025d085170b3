// SPDX-License-Identifier: Apache-2.0
// A profile as one JSON object: what `dump --json` prints of it, with all stacks instead of sites. Its keys are those
// of `--json`; docs/formats.md lists them.
#ifndef HEAPSNAP_PROTO_STACKS_PROFILE_JSON_H
#define HEAPSNAP_PROTO_STACKS_PROFILE_JSON_H

#include "base/error.h"
#include "views/named_profile.h"

#include <stdio.h>

// Writes to `file`, whose own errors are for the caller to see. Stacks are in the profile's order, frames innermost
// first, without the allocator's. `compared_with`: what was taken off, of a difference; NULL = it is none.
// HS_ERROR_NO_MEMORY.
struct hs_error *profile_json_write(const struct named_profile *named, const char *compared_with,
				    FILE *file) HS_MUST_CHECK;

#endif
