// SPDX-License-Identifier: Apache-2.0
#include "snapshot/copy/processor_barrier.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

bool processor_barrier_exists(void)
{
	long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);

	return commands > 0 && commands & MEMBARRIER_CMD_GLOBAL;
}

bool processor_barrier_pass(void) { return syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) == 0; }
