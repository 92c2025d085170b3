// SPDX-License-Identifier: Apache-2.0
// What the programs of test/unharmed/ have in common.
#ifndef HEAPSNAP_TEST_TARGETS_PTRACE_TARGET_H
#define HEAPSNAP_TEST_TARGETS_PTRACE_TARGET_H

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

static inline void target_ready(void)
{
	puts("ready");
	fflush(stdout);
}

// Until the test closes its end.
static inline void target_wait_for_end(void)
{
	char byte;

	while (read(0, &byte, 1) != 0)
		;
}

#endif
