// SPDX-License-Identifier: Apache-2.0
// What a call through a linkage slot of a live module leads to: by the word in the slot, or, as long as none is bound,
// by all that it could be bound to.
#ifndef HEAPSNAP_ATTACH_HOOK_LINKAGE_SLOTS_H
#define HEAPSNAP_ATTACH_HOOK_LINKAGE_SLOTS_H

#include "attach/elf/import_names.h"
#include "attach/elf/libc.h"
#include "attach/hook/exit_points.h"
#include "attach/process/memory.h"

struct linkage_slots {
	const struct module_list *modules; // borrowed, as all of these
	const struct target_memory *memory;
	bool (*is_allocator)(uint64_t address, const void *context); // malloc's like: left by nothing but its return
	const void *context;
	struct libc_info libc;
	struct module_slots *of_modules; // what is known so far; owned. NULL: no memory, nothing is known
};

struct slot_target {
	// of the function that the slot holds, which is to be followed; NULL = `outcome` says all
	const struct module *module;
	uint64_t address;
	enum call_outcome outcome;
	bool is_c_library; // with OUTCOME_unknown: it is a function of the C library, of which no more is known than
			   // `name`
	const char *name;  // by which the slot's module asks for it; NULL = it is no slot
};

void linkage_slots_init(const struct module_list *modules, const struct target_memory *memory,
			bool (*is_allocator)(uint64_t address, const void *context), const void *context,
			struct linkage_slots *ret);
void linkage_slots_deinit(struct linkage_slots *slots);

// `slot`: an address in `module`, one of the list's. Each slot is read once.
struct slot_target linkage_slots_find(struct linkage_slots *slots, const struct module *module, uint64_t slot);

// Whether a module other than the C library's has a slot for a function of this name, or a static program has the
// function; true, too, where a module cannot be read, or not what it asks for.
bool linkage_slots_may_ask_for(struct linkage_slots *slots, const char *name);

#endif
