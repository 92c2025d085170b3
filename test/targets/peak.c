// SPDX-License-Identifier: Apache-2.0
// A heap that rises and falls as it is told to, so that its peak is known to the block. Commands: "high" and "low"
// allocate BLOCKS blocks each, in functions of these names, "ebb" gives all back, "kill" ends it by SIGKILL, "again" by
// executing itself, "end" with exit status 3. Each of the others is answered by its own name.
#include "commands.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCKS = 3000, HIGH_SIZE = 1000, LOW_SIZE = 700 };

static void *blocks[2 * BLOCKS];
static size_t block_count;

static void keep(void *block, size_t size)
{
	if (!block || block_count == 2 * BLOCKS)
		abort();
	memset(block, 1, size);
	blocks[block_count++] = block;
}

static __attribute__((noinline)) void high(void)
{
	for (int i = 0; i < BLOCKS; i++)
		keep(malloc(HIGH_SIZE), HIGH_SIZE);
}

static __attribute__((noinline)) void low(void)
{
	for (int i = 0; i < BLOCKS; i++)
		keep(malloc(LOW_SIZE), LOW_SIZE);
}

static void ebb(void)
{
	while (block_count > 0)
		free(blocks[--block_count]);
}

int main(int argc, char **argv)
{
	const char *command;

	(void)argc;
	say_ready();
	while ((command = next_command())) {
		if (strcmp(command, "high") == 0)
			high();
		else if (strcmp(command, "low") == 0)
			low();
		else if (strcmp(command, "ebb") == 0)
			ebb();
		else if (strcmp(command, "kill") == 0)
			raise(SIGKILL);
		else if (strcmp(command, "again") == 0)
			execv("/proc/self/exe", argv);
		else if (strcmp(command, "end") == 0)
			return 3;
		puts(command);
	}
	return 0;
}
