// SPDX-License-Identifier: Apache-2.0
// Takes memory that the system has promised to nobody yet. Commands:
//   work        allocates and frees some thousand blocks: "right", or "wrong" when one does not hold what was written
//   promise     takes what the commit limit still allows, untouched, in one mapping and smaller ones: "taken"
//   exhaust     allocates blocks until malloc gives NULL, writes to each, frees all: "N blocks"
//   large PERCENT  mallocs so much of what its address space limit leaves: "given" or "NULL"
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "commands.h"

enum { BLOCKS = 20000, MOST = 3000000 };

static const char *work(void)
{
	static unsigned char *blocks[BLOCKS];
	const char *answer = "right";

	for (int i = 0; i < BLOCKS; i++) {
		blocks[i] = malloc(24 + (size_t)i % 500);
		if (blocks[i])
			memset(blocks[i], i & 0xff, 24);
	}
	for (int i = 0; i < BLOCKS; i++) {
		if (blocks[i] && blocks[i][23] != (i & 0xff))
			answer = "wrong";
		free(blocks[i]);
	}
	return answer;
}

static void promise(void)
{
	for (size_t size = (size_t)64 << 30; size >= 4096; size /= 2)
		while (mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
			;
}

static long exhaust(void)
{
	struct link {
		struct link *next;
	} *list = NULL, *block;
	long count = 0;

	while (count < MOST && (block = malloc(64))) {
		block->next = list;
		list = block;
		count++;
	}
	while ((block = list)) {
		list = block->next;
		free(block);
	}
	return count;
}

static uint64_t address_space_left(void)
{
	struct rlimit limit;
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	if (!file || fscanf(file, "%lu", &pages) != 1 || getrlimit(RLIMIT_AS, &limit) != 0)
		exit(3);
	fclose(file);
	return limit.rlim_cur - pages * 4096;
}

int main(void)
{
	const char *command;
	uint64_t left = address_space_left();
	int percent;

	say_ready();
	while ((command = next_command())) {
		if (strcmp(command, "work") == 0) {
			puts(work());
		} else if (strcmp(command, "promise") == 0) {
			promise();
			puts("taken");
		} else if (strcmp(command, "exhaust") == 0) {
			printf("%ld blocks\n", exhaust());
		} else if (sscanf(command, "large %d", &percent) == 1) {
			void *volatile block = malloc(left / 100 * (uint64_t)percent);
			const bool is_given = block;

			free(block); // before the answer: whoever has it measures what is left
			puts(is_given ? "given" : "NULL");
		} else {
			puts("unknown");
		}
	}
	return 0;
}
