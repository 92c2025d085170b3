// SPDX-License-Identifier: Apache-2.0
// A copy of the region as it was at a cut, taken while the target's threads run.
#ifndef HEAPSNAP_SNAPSHOT_COPY_RUNNING_COPY_H
#define HEAPSNAP_SNAPSHOT_COPY_RUNNING_COPY_H

#include "base/error.h"
#include "snapshot/copy/running_cut.h"
#include "snapshot/copy/table_copy.h"

#include <stdint.h>

struct running_report {
	uint64_t wall_ns, monotonic_ns; // of the cut
	uint64_t log_records;           // entries of the log that were used
	uint64_t pending;               // blocks in the snapshot that were being reallocated at the cut
};

// *ret is what table_copy_take would have copied at the cut, but that only those reallocations are pending in it whose
// old address has another block already: for the readers of a copy there is no difference. With an obstacle there is no
// copy. *ret is to be deinitialized after success. HS_ERROR_NO_MEMORY, those of table_copy_take, and of the target's
// end. pre: `cut` is open
struct hs_error *running_copy_take(struct running_cut *cut, struct table_copy *ret, struct running_report *report,
				   enum running_obstacle *obstacle) HS_MUST_CHECK;

#endif
