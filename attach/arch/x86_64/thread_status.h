// SPDX-License-Identifier: Apache-2.0
// What /proc/PID/status says of this processor's features.
#ifndef HEAPSNAP_ATTACH_ARCH_THREAD_STATUS_H
#define HEAPSNAP_ATTACH_ARCH_THREAD_STATUS_H

#include <stdbool.h>
#include <string.h>

// Whether the thread has a shadow stack: "x86_Thread_features:\tshstk wrss " (arch/x86/kernel/cpu/proc.c); the line
// below it, ..._locked, is another.
static inline bool arch_has_shadow_stack(const char *status)
{
	const char *line = strstr(status, "\nx86_Thread_features:"), *found = line ? strstr(line, "shstk") : NULL;

	return found && found < line + 1 + strcspn(line + 1, "\n");
}

#endif
