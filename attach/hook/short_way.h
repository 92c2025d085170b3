// SPDX-License-Identifier: Apache-2.0
// The short way of an island: the code before its trampoline that lets most calls pass without the payload
// (inject/arch/*/entry.S).
#ifndef HEAPSNAP_ATTACH_HOOK_SHORT_WAY_H
#define HEAPSNAP_ATTACH_HOOK_SHORT_WAY_H

#include "inject/abi/payload_header.h"

// Where hooks lead.
struct hook_goals {
	uint64_t entries[HOOK_KIND_COUNT]; // addresses in the target of the payload's entries
	uint64_t state;                    // address in the target of the state pages
};

// Pure. Copies the short way of island->kind from the payload's image, if it has one there, and fills in what it must
// know. Sets island->begin, which leads to the stub in any other case.
void short_way_fill(const struct hook_goals *goals, struct hook_island *island);

#endif
