// SPDX-License-Identifier: Apache-2.0
// How many mappings the target may still have.
#ifndef HEAPSNAP_ATTACH_PROCESS_MAPPING_ROOM_H
#define HEAPSNAP_ATTACH_PROCESS_MAPPING_ROOM_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// vm.max_map_count, which holds for each process by itself; UINT64_MAX when it cannot be read.
uint64_t mapping_limit(void);

// Pure. `used`: lines of the maps file; `areas`: pieces of code near the modules. HS_ERROR_REFUSED when the payload
// would take more than a quarter of what is left: where no mapping is to be had, a program's mmap, mprotect, munmap and
// malloc fail.
struct hs_error *mapping_room_check(uint64_t limit, size_t used, size_t areas) HS_MUST_CHECK;
// The same as yes or no.
bool mapping_room_suffices(uint64_t limit, size_t used, size_t areas);

#endif
