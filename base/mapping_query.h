// SPDX-License-Identifier: Apache-2.0
// One mapping of a process, without reading them all where the kernel can answer that.
#ifndef HEAPSNAP_BASE_MAPPING_QUERY_H
#define HEAPSNAP_BASE_MAPPING_QUERY_H

#include "base/error.h"
#include "base/proc_maps.h"
#include "base/process.h"

// The mapping that holds `address`; `name` is empty, and `deleted` false, whatever is mapped. HS_ERROR_NOT_FOUND: none
// does.
struct hs_error *mapping_query(const struct process *process, uint64_t address, struct proc_map *ret) HS_MUST_CHECK;

#endif
