// SPDX-License-Identifier: Apache-2.0
// The inline fast path of an island: the code before its trampoline that lets most calls pass without the payload
// (inject/arch/*/entry.S).
#ifndef HEAPSNAP_ATTACH_HOOK_INLINE_FAST_PATH_H
#define HEAPSNAP_ATTACH_HOOK_INLINE_FAST_PATH_H

#include "inject/abi/payload_header.h"

// Where hooks lead.
struct hook_goals {
	uint64_t entries[HOOK_KIND_COUNT]; // addresses in the target of the payload's entries
	uint64_t state;                    // address in the target of the state pages
};

// Pure. Copies the inline fast path of island->kind from the payload's image, if it has one there, and fills in what it
// must know. Sets island->begin, which leads to the stub in any other case.
void inline_fast_path_fill(const struct hook_goals *goals, struct hook_island *island);

#endif
