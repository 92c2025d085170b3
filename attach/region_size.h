// SPDX-License-Identifier: Apache-2.0
// How much memory the region may use.
#ifndef HEAPSNAP_ATTACH_REGION_SIZE_H
#define HEAPSNAP_ATTACH_REGION_SIZE_H

#include "attach/target.h"
#include "base/error.h"

#include <stdint.h>

// Bytes: what was `asked` for; for 0, a quarter of what the machine and the target's memory cgroup have free, and no more than half of what its
// address space limit leaves. HS_ERROR_REFUSED when that limit does not leave enough.
struct hs_error *region_size_choose(const struct target_info *target, uint64_t asked, uint64_t *ret) HS_MUST_CHECK;

#endif
