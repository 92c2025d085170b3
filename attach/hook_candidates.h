// SPDX-License-Identifier: Apache-2.0
// The allocation functions that the symbol tables of a process name.
#ifndef HEAPSNAP_ATTACH_HOOK_CANDIDATES_H
#define HEAPSNAP_ATTACH_HOOK_CANDIDATES_H

#include "attach/modules.h"
#include "base/error.h"
#include "inject/abi/payload_header.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hook_candidate {
	size_t module;       // index
	const char *name;    // static
	unsigned rank;       // position in HS_HOOK_NAMES; of several names at one address the first one counts
	enum hook_kind kind;
	uint64_t vaddr;      // in p_vaddr space, as the two below
	uint64_t size;       // bytes; 0 = unknown
	uint64_t next;       // the nearest symbol above vaddr; UINT64_MAX = none
	bool indirect;       // STT_GNU_IFUNC: vaddr is the function that chooses, not the one that is called
	bool local;          // only a local symbol names it
	bool exported;       // other modules can see it
};

struct hook_candidates {
	struct hook_candidate *items; // by module, then in no order; one for each address
	size_t count;
	size_t left_out; // more than HS_HOOKS_MAX
};

// The function that the loader calls when its list changes is among them, where it has a name.
struct hs_error *hook_candidates_find(const struct module_list *modules, struct hook_candidates *ret) HS_MUST_CHECK;
void hook_candidates_deinit(struct hook_candidates *candidates);

#endif
