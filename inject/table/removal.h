// SPDX-License-Identifier: Apache-2.0
// What a hook does with a record before it leaves the live table, so that a dump that copies the table meanwhile still
// finds the block. docs/consistency.md has the protocol and why it is right.
//
// Context: in a hook. Lock-free; a signal handler may come in between.
#ifndef HEAPSNAP_INJECT_TABLE_REMOVAL_H
#define HEAPSNAP_INJECT_TABLE_REMOVAL_H

#include "inject/payload.h"

void removal_log(uint64_t address, uint32_t ref, uint64_t new_address, uint32_t new_ref) HS_HIDDEN;

// Whether a dump is copying. What the thread has stored before this call is in memory before any dump that this call
// does not see begins to copy: the dump makes every processor pass a barrier between the two. So a barrier for the
// compiler is enough here.
static inline bool removal_is_logged(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return HS_UNLIKELY(__atomic_load_n(&region()->removal_flags, __ATOMIC_RELAXED) & REMOVAL_LOGS);
}

// Before a block leaves the table: before its entry, or the `pending` that shows it, is cleared. The record is not
// touched while no dump runs.
static inline void removal_note(uint64_t address, uint32_t ref)
{
	if (removal_is_logged())
		removal_log(address, ref, 0, 0);
}

// Before a reallocation's `pending` is cleared, when its new block is already in the table, if there is any:
// `new_address` is not 0, so that a dump knows that the old address had been given back before this.
static inline void removal_note_moved(uint64_t address, uint32_t ref, uint64_t new_address, uint32_t new_ref)
{
	if (removal_is_logged())
		removal_log(address, ref, new_address, new_ref);
}

#endif
