// SPDX-License-Identifier: Apache-2.0
// Code of ours in a process that has no region. A child that was forked while its parent was attached has it: the hooks
// are in its text, and pass straight through, because the state pages were wiped and the region not inherited. A
// process in which an attach was killed before the region had its header has it too; no hook leads there. Each island
// holds the journal of its own hook, so both can be undone.
//
// All else depends on the image. It is known by its name (code_names.h) and by what it says of itself; islands by being
// of the same file; state pages, region and hooks by what image and islands say. So the image is always the first thing
// that is mapped and the last that is unmapped.
#ifndef HEAPSNAP_ATTACH_SESSION_INHERITED_H
#define HEAPSNAP_ATTACH_SESSION_INHERITED_H

#include "attach/process/address_range.h"
#include "attach/process/code_names.h"
#include "attach/process/memory.h"
#include "base/error.h"
#include "base/proc_maps.h"
#include "inject/abi/payload_header.h"
#include "inject/abi/region.h"

#include <stdbool.h>

#define HS_CODE_PARTS_MAX (1 + HS_ISLAND_AREAS_MAX) // the image and the areas of islands

struct inherited {
	struct address_range code[HS_CODE_PARTS_MAX]; // the first is the image, of size 0 when it is not there
	size_t code_count;                            // 0 = there is nothing of ours
	uint64_t state_size;                          // bytes of state pages right behind the image; 0 = there are none
	struct address_range bare_region; // that the image names, mapped but not begun; size 0 = there is none
	struct hook_record *hooks;        // owned; in the order of application, some with state HOOK_PLANNED: none such
	size_t hook_count;
};

// *ret is owned by the caller (inherited_deinit), on success only; code_count 0, where there is nothing, is no error.
// Errors are those of reading the target, and HS_ERROR_NO_MEMORY. pre: the process has no region that has its header.
struct hs_error *inherited_read(const struct proc_maps *maps, const struct target_memory *memory,
				const struct code_names *names, struct inherited *ret) HS_MUST_CHECK;
void inherited_deinit(struct inherited *inherited);

// Whether some hook is in place: so it is in a forked child, and not after an attach that was killed before the region
// was mapped.
bool inherited_is_hooked(const struct inherited *inherited, const struct target_memory *memory);

#endif
