// SPDX-License-Identifier: Apache-2.0
// As of aarch64: the file does not tell of its guarded control stacks.
#ifndef HEAPSNAP_ATTACH_ARCH_THREAD_STATUS_H
#define HEAPSNAP_ATTACH_ARCH_THREAD_STATUS_H

#include <stdbool.h>

static inline bool arch_has_shadow_stack(const char *status)
{
	(void)status;
	return false;
}

#endif
