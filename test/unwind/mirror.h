// SPDX-License-Identifier: Apache-2.0
// The target's memory that the payload reads in a walk, at the same addresses in this process, and a region for the
// payload.
#ifndef HEAPSNAP_TEST_MIRROR_H
#define HEAPSNAP_TEST_MIRROR_H

#include "attach/elf/modules.h"
#include "attach/process/memory.h"
#include "attach/process/target.h"
#include "attach/ptrace/threads.h"
#include "base/error.h"
#include "base/proc_maps.h"
#include "inject/abi/region.h"

struct mirrored_range {
	uint64_t low, high; // [low, high), whole pages; equal = none
};

// Copies the pages of [low, high). Pages that the target does not have are zero. An error of errno EEXIST: something of
// this process is there (see mirror_is_clash).
struct hs_error *mirror_range(const struct target_memory *memory, const struct proc_maps *maps, uint64_t low,
			      uint64_t high, struct mirrored_range *ret) HS_MUST_CHECK;
void mirror_range_release(struct mirrored_range *range);
bool mirror_is_clash(const struct hs_error *error);

struct mirror {
	struct region_header *region;
	struct mirrored_range *modules; // their unwind information
	struct mirrored_range *texts;   // their code, if the payload looks at it
	size_t module_count;
};

// A fresh region, filled as attach fills it, and the unwind information of all modules. Configures the payload for the
// target. pre: *ret is zeroed. On failure call mirror_close.
struct hs_error *mirror_open(const struct target_info *target, const struct proc_maps *maps,
			     const struct module_list *modules, const struct target_memory *memory,
			     const struct frozen_process *frozen, struct mirror *ret) HS_MUST_CHECK;
void mirror_close(struct mirror *mirror);

#endif
