// SPDX-License-Identifier: Apache-2.0
#include "snapshot/profile/unseen_share.h"

#include <inttypes.h>
#include <stdio.h>

const char *unseen_share(bool counts_untracked, uint64_t untracked, uint64_t recorded, char *buffer)
{
	uint64_t all = untracked + recorded;

	if (!counts_untracked)
		snprintf(buffer, UNSEEN_SHARE_SIZE, "their share of all blocks is known only with --exact");
	else if (!all)
		snprintf(buffer, UNSEEN_SHARE_SIZE, "no frees so far");
	else
		snprintf(buffer, UNSEEN_SHARE_SIZE,
			 "%.1f %% of %" PRIu64
			 " %s so far %s of untracked blocks (from before attach, or made by these functions)",
			 100.0 * (double)untracked / (double)all, all, all == 1 ? "free" : "frees",
			 all == 1 ? "was" : "were");
	return buffer;
}
