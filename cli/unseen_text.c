// SPDX-License-Identifier: Apache-2.0
#include "cli/unseen_text.h"

#include <inttypes.h>
#include <stdio.h>

const char *unseen_text(const struct hs_status *process, char *buffer)
{
	bool is_one = process->unseen_functions == 1;

	if (!process->unseen_functions)
		return NULL;
	snprintf(buffer, UNSEEN_TEXT_SIZE, "%" PRIu32 " function%s that make%s blocks %s not hooked; %s",
		 process->unseen_functions, is_one ? "" : "s", is_one ? "s" : "", is_one ? "is" : "are",
		 process->unseen_share);
	return buffer;
}
