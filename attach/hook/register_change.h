// SPDX-License-Identifier: Apache-2.0
// Which registers a function changes, with all that it calls, as far as its code shows.
//
// A caller in the same module may know that, and keep values in all other registers across the call (gcc -O2: -fipa-ra;
// collect_fn_hard_reg_usage in gcc/final.cc), whether or not the function is exported as well. So a hook may change a
// scratch register only where the function, or what it calls, is seen to change it: then no compiler has counted on it.
// Whatever is not seen counts as not changed.
#ifndef HEAPSNAP_ATTACH_HOOK_REGISTER_CHANGE_H
#define HEAPSNAP_ATTACH_HOOK_REGISTER_CHANGE_H

#include "attach/elf/modules.h"
#include "attach/process/memory.h"

struct register_change {
	bool all; // every scratch register that a called function may change, vectors with them: it calls a function of
		  // another module, of which no compiler knows anything
	bool all_general; // every general one of them
	bool no_vectors;  // nothing that it does, or that what it calls does, has to do with vector registers
};

struct register_search; // what is known so far of one module's code

// NULL = no memory.
struct register_search *register_search_begin(const struct target_memory *memory);
void register_search_end(struct register_search *search);

// `address`: of a function of `module`, in the target. Compares what it looks at with the target's memory. Without a
// search (NULL) nothing is seen.
void register_change_find(struct register_search *search, const struct module *module, uint64_t address,
			  struct register_change *ret);

#endif
