// SPDX-License-Identifier: Apache-2.0
#include "attach/urgency.h"

#include <errno.h>
#include <sys/resource.h>

enum { HIGHEST_PRIORITY = -20 }; // setpriority(2)

int urgency_begin(void)
{
	int nice_value;

	errno = 0;
	nice_value = getpriority(PRIO_PROCESS, 0);
	if (nice_value == -1 && errno != 0)
		return HIGHEST_PRIORITY; // unknown: nothing is changed, and giving back changes nothing either
	setpriority(PRIO_PROCESS, 0, HIGHEST_PRIORITY);
	return nice_value;
}

void urgency_end(int nice_value)
{
	if (nice_value != HIGHEST_PRIORITY)
		setpriority(PRIO_PROCESS, 0, nice_value); // always allowed: downwards, or not at all
}
