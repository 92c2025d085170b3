// SPDX-License-Identifier: Apache-2.0
// The code of a module's file, and what its linkage tables lead to. Private to debug_info.
#ifndef HEAPSNAP_SNAPSHOT_SYMBOLS_MODULE_CODE_H
#define HEAPSNAP_SNAPSHOT_SYMBOLS_MODULE_CODE_H

#include "base/error.h"

#include <libelf.h>
#include <stddef.h>
#include <stdint.h>

struct module_code;

// `elf` must live longer. *ret is owned by the caller. HS_ERROR_NO_MEMORY.
struct hs_error *module_code_create(Elf *elf, struct module_code **ret) HS_MUST_CHECK;
void module_code_destroy(struct module_code *code);

// The file's bytes from `address` on, at most *size_ret of them; NULL and 0 = none: no code is there.
const uint8_t *module_code_bytes(const struct module_code *code, uint64_t address, size_t *size_ret);

// The symbol whose address the loader puts in a word at that address. NULL = none; then *resolver_ret is the function
// that says which address it puts there, if there is one. Lives as long as `elf`.
const char *module_code_slot_name(const struct module_code *code, uint64_t address, uint64_t *resolver_ret);

#endif
