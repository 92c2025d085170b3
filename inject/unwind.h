// SPDX-License-Identifier: Apache-2.0
// The call stack of a hook's caller, as a node of the stack table.
#ifndef HEAPSNAP_INJECT_UNWIND_H
#define HEAPSNAP_INJECT_UNWIND_H

#include "arch.h"
#include "payload.h"

// Walks from the hooked function's caller outwards. Returns the node of the innermost frame; never 0. A walk that cannot be completed
// is counted with its reason, and its stack ends in a node that names the reason.
uint32_t unwind_to_node(struct thread_slot *slot, const struct entry_frame *entry) HS_HIDDEN;

#endif
