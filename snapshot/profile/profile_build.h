// SPDX-License-Identifier: Apache-2.0
// From added-up stacks to the plain result: modules, mappings, locations, samples. Pure; symbols come later.
#ifndef HEAPSNAP_SNAPSHOT_PROFILE_PROFILE_BUILD_H
#define HEAPSNAP_SNAPSHOT_PROFILE_PROFILE_BUILD_H

#include "base/error.h"
#include "base/proc_maps.h"
#include "snapshot/heap_profile.h"
#include "snapshot/profile/aggregate.h"

// Fills modules, mappings, locations, frames, samples and totals of a zeroed profile. `maps` are the target's at the
// time of the copy. On failure the caller deinits *profile. HS_ERROR_NO_MEMORY.
struct hs_error *profile_build(struct table_view *view, const struct aggregate *aggregate, const struct proc_maps *maps,
			       struct heap_profile *profile) HS_MUST_CHECK;

#endif
