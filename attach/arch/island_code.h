// SPDX-License-Identifier: Apache-2.0
// The code of an island: stub and trampoline.
#ifndef HEAPSNAP_ATTACH_ARCH_ISLAND_CODE_H
#define HEAPSNAP_ATTACH_ARCH_ISLAND_CODE_H

#include "attach/arch/relocate.h"

// Pure: the code of one island, stub and trampoline, without an inline fast path. `entry` is the payload's entry.
void arch_fill_island(uint64_t entry, uint32_t hook_index, enum hook_kind kind,
		      const struct relocation_result *relocation, struct hook_island *ret);
// Pure: whether these bytes of the target are an island that such code was written to.
bool arch_island_has_stub(const struct hook_island *island);

#endif
