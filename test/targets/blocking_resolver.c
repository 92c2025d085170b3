// SPDX-License-Identifier: Apache-2.0
// Blocks SIGURG while the loader still relocates the program: in the resolver of an indirect function. Ends with exit
// status 6.
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SIGURG_BIT (UINT64_C(1) << 22)

static int status_of_end(void) { return 6; }

static int (*resolve(void))(void)
{
	const uint64_t mask = SIGURG_BIT;

	syscall(SYS_rt_sigprocmask, 0 /* SIG_BLOCK */, &mask, NULL, sizeof(mask));
	return status_of_end;
}

static int chosen(void) __attribute__((ifunc("resolve")));

int main(void)
{
	free(malloc(100));
	return chosen();
}
