// SPDX-License-Identifier: Apache-2.0
// The heap at the moment at which the most was live, as far as looks tell: the heap is copied again and again while the
// process runs, and of the copies the one with most live bytes is kept. No thread is stopped for it.
//
// Looks are so far apart that the tool takes a tenth of a processor for them at most: what comes and goes between two
// of them is not seen.
#ifndef HEAPSNAP_LIB_PEAK_H
#define HEAPSNAP_LIB_PEAK_H

#include "base/error.h"
#include "base/process.h"
#include "snapshot/block_selection.h"

#include <stdbool.h>
#include <stdint.h>

struct heap_copy;

// Zeroed = before the first look.
struct hs_peak {
	struct heap_copy *copy; // the highest; owned; NULL = no look has succeeded
	uint64_t live_bytes;    // then
	uint64_t looks;         // that have succeeded
	uint64_t missed;        // that have not, of a process that was there
	unsigned in_vain;       // of these, before any has succeeded
	uint64_t began_ns;      // CLOCK_MONOTONIC: the first one
	uint64_t next_ns;       // when the next one is due
};

// How long nobody looks after one that took `cost` of a processor's time, `passed` after the first one; ns. Pure.
uint64_t hs_peak_apart(uint64_t passed, uint64_t cost);

// Looks. After an error the next one may succeed, and the kept copy is there; only HS_ERROR_GONE and HS_ERROR_NOT_FOUND
// are for good, and after HS_ERROR_INTERRUPTED a signal waits to be dealt with. `blocks`: as of heap_copy_select.
struct hs_error *hs_peak_look(struct hs_peak *peak, const struct process *process,
			      const struct block_selection *blocks) HS_MUST_CHECK;
// Whether looks have failed so often, and for so long, that none will succeed: what passes has passed by then.
bool hs_peak_is_hopeless(const struct hs_peak *peak);
void hs_peak_deinit(struct hs_peak *peak);

#endif
