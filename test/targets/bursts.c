// SPDX-License-Identifier: Apache-2.0
// Allocates as fast as it can, or hardly. Commands: "churn N": N blocks made and released at once; "rest N": N blocks
// of 4 KiB made and released, with a millisecond between them; "keep N": N blocks of 100 bytes that stay; "hold N": as
// many of 101 bytes, of another site. Each prints "done".
#include "commands.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static void *volatile kept;

// What follows the call keeps it from being a jump.
__attribute__((noinline)) static void site_churn(size_t size) { kept = malloc(size); }
__attribute__((noinline)) static void site_rest(void) { kept = malloc(4096); }
__attribute__((noinline)) static void site_keep(void) { kept = malloc(100); }
__attribute__((noinline)) static void site_hold(void) { kept = malloc(101); }

static void churn(unsigned long count)
{
	for (unsigned long i = 0; i < count; i++) {
		site_churn(16 + i % 200);
		free(kept);
	}
}

static void rest(unsigned long count)
{
	const struct timespec millisecond = { .tv_nsec = 1000000 };

	for (unsigned long i = 0; i < count; i++) {
		site_rest();
		nanosleep(&millisecond, NULL);
		free(kept);
	}
}

int main(void)
{
	const char *line;

	say_ready();
	while ((line = next_command())) {
		unsigned long count = strtoul(line + strcspn(line, " "), NULL, 10);

		if (line[0] == 'c')
			churn(count);
		else if (line[0] == 'r')
			rest(count);
		else
			for (unsigned long i = 0; i < count; i++)
				line[0] == 'k' ? site_keep() : site_hold();
		puts("done");
	}
	return 0;
}
