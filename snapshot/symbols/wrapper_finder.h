// SPDX-License-Identifier: Apache-2.0
// Which functions of a module do nothing but allocate for their caller (attach/arch/wrapper_code.h). Private to
// debug_info.
#ifndef HEAPSNAP_SNAPSHOT_SYMBOLS_WRAPPER_FINDER_H
#define HEAPSNAP_SNAPSHOT_SYMBOLS_WRAPPER_FINDER_H

#include "base/error.h"
#include "snapshot/symbols/module_code.h"
#include "snapshot/symbols/symbol_table.h"

#include <stdbool.h>
#include <stdint.h>

struct wrapper_finder;

// Both must live longer. `symbol_bias`: a symbol's address less that of its code. *ret is owned by the caller.
// HS_ERROR_NO_MEMORY.
struct hs_error *wrapper_finder_create(const struct module_code *code, const struct symbol_table *symbols,
				       uint64_t symbol_bias, struct wrapper_finder **ret) HS_MUST_CHECK;
void wrapper_finder_destroy(struct wrapper_finder *finder);

// Whether the function that holds `address` is a wrapper, and the call that ends behind `address` an allocation of
// its. What has no symbol, or one without a size, is none. HS_ERROR_NO_MEMORY.
struct hs_error *wrapper_finder_judge(struct wrapper_finder *finder, uint64_t address, bool *ret) HS_MUST_CHECK;

#endif
