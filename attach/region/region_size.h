// SPDX-License-Identifier: Apache-2.0
// How much memory the region may use.
#ifndef HEAPSNAP_ATTACH_REGION_REGION_SIZE_H
#define HEAPSNAP_ATTACH_REGION_REGION_SIZE_H

#include "attach/process/target.h"
#include "base/error.h"

#include <stdint.h>

// What can give the region no more memory, in bytes that are left; UINT64_MAX = no such limit.
struct memory_room {
	uint64_t machine;       // memory that is available
	uint64_t group;         // below the limit of the target's memory cgroup
	uint64_t address_space; // below RLIMIT_AS
	uint64_t commit;        // below the commit limit, where vm.overcommit_memory is 2
	uint64_t mapping;       // in one mapping, where vm.overcommit_memory is 0
};

// Pure. Bytes for records: `asked`, if not 0. Otherwise the smaller of a quarter of the machine's available memory and
// an eighth of what the cgroup leaves; reduced so that with the fixed parts it is at most an eighth of what each other
// limit leaves, where that is possible. HS_ERROR_REFUSED: with the fixed parts it is more than the cgroup or a mapping
// has room for, or more than a quarter of what the others leave, which are the target's own.
struct hs_error *region_size_decide(const struct memory_room *room, uint64_t asked, uint64_t *ret) HS_MUST_CHECK;

// The same for a target as it is now.
struct hs_error *region_size_choose(const struct target_info *target, uint64_t asked, uint64_t *ret) HS_MUST_CHECK;

#endif
