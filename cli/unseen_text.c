// SPDX-License-Identifier: Apache-2.0
#include "cli/unseen_text.h"

#include <inttypes.h>
#include <stdio.h>

const char *unseen_text(const struct attached_process *process, char *buffer)
{
	uint64_t unknown = process->costs.unknown_frees, all = process->costs.frees + unknown;
	int length;

	if (!process->unseen_makers)
		return NULL;
	length = snprintf(buffer, UNSEEN_TEXT_SIZE, "%" PRIu32 " function%s that make%s blocks %s not hooked; ",
			  process->unseen_makers, process->unseen_makers == 1 ? "" : "s",
			  process->unseen_makers == 1 ? "s" : "", process->unseen_makers == 1 ? "is" : "are");
	if (!process->always_exact)
		snprintf(buffer + length, UNSEEN_TEXT_SIZE - (size_t)length,
			 "their share of all blocks is known only with --exact");
	else if (!all)
		snprintf(buffer + length, UNSEEN_TEXT_SIZE - (size_t)length, "no frees so far");
	else
		snprintf(buffer + length, UNSEEN_TEXT_SIZE - (size_t)length,
			 "%.1f %% of %" PRIu64
			 " frees so far were of untracked blocks (from before attach, or made by these functions)",
			 100.0 * (double)unknown / (double)all, all);
	return buffer;
}
