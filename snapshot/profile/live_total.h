// SPDX-License-Identifier: Apache-2.0
// How much is live, without saying where: for those that only compare moments. Pure.
#ifndef HEAPSNAP_SNAPSHOT_PROFILE_LIVE_TOTAL_H
#define HEAPSNAP_SNAPSHOT_PROFILE_LIVE_TOTAL_H

#include "snapshot/copy/table_check.h"
#include "snapshot/profile/estimate.h"

// As aggregate.live of the same tables.
struct estimate live_total(struct table_view *view);

#endif
