// SPDX-License-Identifier: Apache-2.0
#include "snapshot/copy/membarrier.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

bool membarrier_exists(void)
{
	long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);

	return commands > 0 && commands & MEMBARRIER_CMD_GLOBAL;
}

bool membarrier_run(void) { return syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) == 0; }
