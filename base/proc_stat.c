// SPDX-License-Identifier: Apache-2.0
#include "base/proc_stat.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// include/linux/sched.h. Set by exit_signals (kernel/signal.c), before the thread gives up its memory and its
// descriptors.
#define PF_EXITING 0x4u

bool proc_stat_parse(const char *text, struct proc_stat *ret)
{
	const char *open = strchr(text, '('), *close = strrchr(text, ')');

	if (!open || !close || close < open)
		return false;
	*ret = (struct proc_stat){ .name = open + 1, .name_size = (size_t)(close - open - 1) };
	// Fields 3 (state), 9 (flags), 20 (threads), 28 (start of the stack)
	return sscanf(close + 1,
		      " %c %*d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %" SCNu32
		      " %*d %*u %*u %*d %*u %*u %*u %" SCNu64,
		      &ret->state, &ret->flags, &ret->thread_count, &ret->stack_start) == 4;
}

bool proc_stat_lives(const char *text)
{
	struct proc_stat stat;

	return proc_stat_parse(text, &stat) && !strchr("ZXx", stat.state) && !(stat.flags & PF_EXITING);
}
