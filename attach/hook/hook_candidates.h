// SPDX-License-Identifier: Apache-2.0
// The allocation functions that the symbol tables of a process name.
#ifndef HEAPSNAP_ATTACH_HOOK_HOOK_CANDIDATES_H
#define HEAPSNAP_ATTACH_HOOK_HOOK_CANDIDATES_H

#include "attach/elf/modules.h"
#include "attach/hook/hook_addition.h"
#include "attach/hook/hook_layout.h"
#include "base/error.h"
#include "inject/abi/payload_header.h"
#include "inject/abi/records.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hook_candidate {
	size_t module; // index
	char name[sizeof(((struct hook_record *)NULL)->name)];
	unsigned rank; // of several names at one address the one of least rank counts: the user's, then those of the
		       // table in its order
	struct hook_signature signature;
	uint64_t vaddr;            // in p_vaddr space, as the four below
	uint64_t size;             // bytes; 0 = unknown
	uint64_t next;             // the nearest symbol above vaddr; UINT64_MAX = none
	uint64_t previous;         // the nearest symbol that no short branch leads from to here, though from behind it
				   // (branch_scan.h); 0 = none
	uint64_t companion;        // the island's (abi/payload_header.h); 0 = none
	enum hook_verdict verdict; // VERDICT_ok: nothing speaks against it yet
	bool indirect;             // STT_GNU_IFUNC: vaddr is the function that chooses, not the one that is called
	bool added;                // by the user
	bool nothrow;              // with his word that it neither throws nor is a cancellation point
	bool local;                // only a local symbol names it
	bool exported;             // other modules can see it
};

struct hook_candidates {
	struct hook_candidate *items; // by module, then in no order; one for each address
	size_t count;
	size_t left_out;  // more than HS_HOOKS_MAX
	char copies[256]; // names of functions that the compiler has made of candidates for some of their callers, and
			  // nobody hooks; cut to fit
	size_t copy_count;
};

// The function that the loader calls when its list changes is among them, where it has a name. HS_ERROR_REFUSED: a name
// of `additions` is in no module, or stands for several functions of one.
struct hs_error *hook_candidates_find(const struct module_list *modules, const struct hook_additions *additions,
				      struct hook_candidates *ret) HS_MUST_CHECK;
void hook_candidates_deinit(struct hook_candidates *candidates);

#endif
