// SPDX-License-Identifier: Apache-2.0
// The stack table: a tree of frames, each (frame, outer frames) once, found by hash. Append-only.
#ifndef HEAPSNAP_INJECT_TABLE_STACK_TABLE_H
#define HEAPSNAP_INJECT_TABLE_STACK_TABLE_H

#include "inject/payload.h"

// The node for `frame` called from `parent` (ref; 0 = outermost). 0 = the region is full.
uint32_t stack_table_node(struct thread_slot *slot, uint32_t parent, uint64_t frame) HS_HIDDEN;

// The node that stands for every stack that found no room; the tool puts it first in `pages`.
static inline uint32_t stack_table_full_node(void) { return page_first_ref((uint32_t)region()->first_page); }

#endif
