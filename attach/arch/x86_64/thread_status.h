// SPDX-License-Identifier: Apache-2.0
// What /proc/PID/status says of this processor's features.
#ifndef HEAPSNAP_ATTACH_ARCH_THREAD_STATUS_H
#define HEAPSNAP_ATTACH_ARCH_THREAD_STATUS_H

#include "base/proc_status.h"

#include <stdbool.h>
#include <string.h>

// Whether the thread has a shadow stack: "x86_Thread_features:\tshstk wrss " (arch/x86/kernel/cpu/proc.c); the line
// below it, ..._locked, is another.
static inline bool arch_has_shadow_stack(const char *status)
{
	const char *features = proc_status_field(status, "x86_Thread_features:");
	const char *found = features ? strstr(features, "shstk") : NULL;

	return found && found < features + strcspn(features, "\n");
}

#endif
