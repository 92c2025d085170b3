// SPDX-License-Identifier: Apache-2.0
// The region's first content.
#ifndef HEAPSNAP_ATTACH_REGION_REGION_FILL_H
#define HEAPSNAP_ATTACH_REGION_REGION_FILL_H

#include "attach/elf/modules.h"
#include "attach/hook/hook_plan.h"
#include "attach/process/target.h"
#include "attach/ptrace/threads.h"
#include "attach/region/payload_load.h"
#include "attach/region/sampling_settings.h"
#include "inject/abi/region.h"

struct region_filling {
	const struct target_info *target;
	const struct module_list *modules;
	const struct payload_layout *layout;
	const struct hook_plan *hooks;
	const struct frozen_process *frozen;
	uint32_t depth;
	struct sampling_settings sampling;
	uint64_t sampling_seed;
	uint32_t ticks_per_us;
};

// Writes header, modules and the stack table's first node into a zeroed region. `context` is a struct region_filling.
void region_fill(struct region_header *header, void *context);

// Pure: the range in which the main thread's stack lies. The kernel keeps room for its growth below the mapping, at
// least 128 MiB or the stack limit (mmap_base in arch/x86/mm/mmap.c), so a stack pointer in that range is on this
// stack.
void region_main_stack(const struct proc_maps *maps, uint64_t stack_limit, uint64_t *low_ret, uint64_t *high_ret);

#endif
