// SPDX-License-Identifier: Apache-2.0
// Addresses and sizes in pages of HS_PAGE_SIZE.
#ifndef HEAPSNAP_INJECT_ABI_PAGE_H
#define HEAPSNAP_INJECT_ABI_PAGE_H

#include "inject/abi/limits.h"

#include <stdint.h>

// The page that holds an address; of a size, what of it is whole pages.
static inline uint64_t page_of(uint64_t address) { return address & ~(uint64_t)(HS_PAGE_SIZE - 1); }

// The first page that begins at or behind an address; of a size, the pages that hold it.
static inline uint64_t page_up(uint64_t address) { return page_of(address + HS_PAGE_SIZE - 1); }

#endif
