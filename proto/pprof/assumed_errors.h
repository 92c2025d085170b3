// SPDX-License-Identifier: Apache-2.0
// Standard errors of estimates that a file does not tell, or not exactly: pprof_decoder.h says how. Pure.
#ifndef HEAPSNAP_PROTO_PPROF_ASSUMED_ERRORS_H
#define HEAPSNAP_PROTO_PPROF_ASSUMED_ERRORS_H

#include "snapshot/heap_profile.h"

#include <stdbool.h>

// Which errors the file has told: of samples, of the total. The others' variances are 0 before.
void assumed_errors_apply(struct heap_profile *profile, bool samples_have, bool total_has);
// All that is live was recorded as it is. What a file tells as errors is then of what was not recorded.
void assumed_errors_clear(struct heap_profile *profile);

#endif
