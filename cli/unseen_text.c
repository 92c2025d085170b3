// SPDX-License-Identifier: Apache-2.0
#include "cli/unseen_text.h"

#include <inttypes.h>
#include <stdio.h>

const char *unseen_text(const struct hs_status *process, char *buffer)
{
	uint64_t unknown = process->unknown_frees, all = process->frees + unknown;
	int length;

	if (!process->unseen_functions)
		return NULL;
	length = snprintf(buffer, UNSEEN_TEXT_SIZE, "%" PRIu32 " function%s that make%s blocks %s not hooked; ",
			  process->unseen_functions, process->unseen_functions == 1 ? "" : "s",
			  process->unseen_functions == 1 ? "s" : "", process->unseen_functions == 1 ? "is" : "are");
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
