// SPDX-License-Identifier: Apache-2.0
// Functions that need no hook, because all that they do with blocks they leave to functions that have one.
#ifndef HEAPSNAP_ATTACH_HOOK_HOOK_FORWARD_H
#define HEAPSNAP_ATTACH_HOOK_HOOK_FORWARD_H

#include "attach/elf/modules.h"
#include "attach/process/memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A function of `module`: its bytes in the file, and its address in the target.
struct forward_code {
	const struct module *module;
	const uint8_t *code;
	size_t size;
	uint64_t address;
};

// Whether it begins with a jump to a function for which `is_hooked` holds, directly or through a procedure linkage
// table that is resolved. `calls`: also whether it calls or jumps to one anywhere.
bool hook_forwards(const struct forward_code *function, bool calls, const struct target_memory *memory,
		   bool (*is_hooked)(uint64_t address, const void *context), const void *context);

// Whether every way through it calls or jumps to one, or does not come back.
bool hook_always_forwards(const struct forward_code *function, const struct target_memory *memory,
			  bool (*is_hooked)(uint64_t address, const void *context), const void *context);

#endif
