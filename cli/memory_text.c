// SPDX-License-Identifier: Apache-2.0
#include "cli/memory_text.h"

#include "cli/console.h"

void memory_print(const struct options *options, const char *before, const struct profile_memory *memory)
{
	char rss[NUMBER_SIZE], anonymous[NUMBER_SIZE], swapped[NUMBER_SIZE];

	console_print(options, "%s RSS %s (anonymous %s%s%s)\n", before, number_bytes(memory->rss, rss),
		      number_bytes(memory->anonymous, anonymous), memory->swapped ? "; swapped out " : "",
		      memory->swapped ? number_bytes(memory->swapped, swapped) : "");
}
