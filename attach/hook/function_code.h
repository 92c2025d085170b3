// SPDX-License-Identifier: Apache-2.0
// The code of functions that are followed, from their files, where the target's memory has the same.
#ifndef HEAPSNAP_ATTACH_HOOK_FUNCTION_CODE_H
#define HEAPSNAP_ATTACH_HOOK_FUNCTION_CODE_H

#include "attach/elf/modules.h"
#include "attach/hook/quiet_names.h"
#include "attach/process/memory.h"

struct function_code {
	uint64_t address;
	const uint8_t *code; // inside the module's view; NULL = none, too much, or memory has something else
	size_t size;         // as its symbol says, or, where none does, as far as a function goes that is looked at
	enum unwinding unwinding; // by its names
	bool asks_for_callers;    // by its names
};

struct function_codes {
	const struct target_memory *memory; // borrowed
	struct function_code *items;        // owned
	size_t count, room;
};

// Each is looked for once: that takes a walk through all symbols of its module.
struct function_code function_codes_find(struct function_codes *codes, const struct module *module, uint64_t address);
void function_codes_deinit(struct function_codes *codes);

#endif
