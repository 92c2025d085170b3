// SPDX-License-Identifier: Apache-2.0
// A memory barrier on every processor: membarrier(2).
#ifndef HEAPSNAP_SNAPSHOT_COPY_MEMBARRIER_H
#define HEAPSNAP_SNAPSHOT_COPY_MEMBARRIER_H

#include <stdbool.h>

// Whether this kernel has one (not with nohz_full) and lets this process use it.
bool membarrier_exists(void);
// After it, whatever any thread has stored before an instruction that it has executed before this call is in memory.
// False: there was none.
bool membarrier_run(void);

#endif
