// SPDX-License-Identifier: Apache-2.0
// A process that has nearly as many mappings as vm.max_map_count allows: its argument says how many it leaves. At each
// line of input it maps, uses and gives back memory, and answers "works" or what did not.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, PAIRS = 300000 };

// Pages of two protections in turn; each change makes two mappings more.
static size_t fill(char *memory, size_t left)
{
	size_t count = 0;

	while (count < PAIRS && mprotect(memory + count * 2 * PAGE + PAGE, PAGE, PROT_READ) == 0)
		count++;
	for (size_t i = 0; i < left / 2 && count > 0; i++)
		mprotect(memory + --count * 2 * PAGE + PAGE, PAGE, PROT_NONE);
	return count;
}

static const char *work(void)
{
	char *block = malloc(1 << 20),
	     *pages = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (!block || pages == MAP_FAILED)
		return "no memory";
	memset(block, 1, 1 << 20);
	memset(pages, 1, 4 * PAGE);
	free(block);
	return munmap(pages, 4 * PAGE) == 0 ? "works" : "not unmapped";
}

int main(int argc, char **argv)
{
	static char input[BUFSIZ], output[BUFSIZ];
	char line[16];
	char *memory =
		mmap(NULL, (size_t)PAIRS * 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	setvbuf(stdin, input, _IOFBF, sizeof(input));
	setvbuf(stdout, output, _IOLBF, sizeof(output));
	free(malloc(100));
	if (memory == MAP_FAILED || argc < 2 || fill(memory, (size_t)atoi(argv[1])) == PAIRS)
		puts("not filled");
	else
		puts("ready");
	while (fgets(line, sizeof(line), stdin))
		puts(work());
	return 0;
}
