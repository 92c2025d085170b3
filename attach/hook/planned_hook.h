// SPDX-License-Identifier: Apache-2.0
// What a plan says (hook_plan.h): which functions are hooked, with which bytes, and where their islands go.
#ifndef HEAPSNAP_ATTACH_HOOK_PLANNED_HOOK_H
#define HEAPSNAP_ATTACH_HOOK_PLANNED_HOOK_H

#include "attach/arch/relocate.h"
#include "inject/abi/limits.h"
#include "inject/abi/payload_header.h"
#include "inject/abi/records.h"

#include <stddef.h>
#include <stdint.h>

struct planned_hook {
	struct hook_record record; // state, verdict, old and new bytes, as the journal will hold it
	struct relocation_result relocation;
	struct hook_island island;
	size_t island_slot; // index into the island pages of `island_area`
	size_t island_area; // index into hook_plan.areas
	uint64_t companion; // address of the function that becomes the island's companion; 0 = none
};

struct island_area {
	uint64_t address; // in the target; page aligned, free there
	size_t slots;     // used
	size_t pages;
};

#define HOOK_ANY_MODULE SIZE_MAX

struct hook_plan {
	struct planned_hook *hooks; // in the order of application: loader event, then free-like, then allocating
	size_t count;               // with the refused ones, whose record.verdict is not VERDICT_ok
	struct island_area areas[HS_ISLAND_AREAS_MAX];
	size_t area_count;
	size_t used_module; // whose malloc the dynamic loader gives to those who ask for one; HOOK_ANY_MODULE = there
			    // is no such choice
};

#endif
