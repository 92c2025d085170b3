// SPDX-License-Identifier: Apache-2.0
#include "cli/version.h"

#include "inject/abi/limits.h"

#include "commit.h" // made at build time by version.cmake

void version_print(FILE *file)
{
	fprintf(file, "heapsnap %s (commit %s, %s, ABI %u)\n", HEAPSNAP_VERSION, HEAPSNAP_COMMIT, HEAPSNAP_BUILD,
		HS_ABI_VERSION);
}
