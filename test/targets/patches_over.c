// SPDX-License-Identifier: Apache-2.0
// Patches its own malloc where somebody else has: the entry leads to code of its own, and from there to where the first
// patch led. Commands on standard input: "patch" (answers "patched", or "nothing" when malloc begins with no jump),
// "unpatch", "work" (answers "worked").
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "commands.h"

enum { JUMP_SIZE = 5 };

static uint8_t *place; // of the jump
static uint8_t before[JUMP_SIZE];
static uint8_t *code; // a page of its own that the new jump leads to

// Through the kernel, so that the mapping stays as it is.
static void write_text(const void *bytes)
{
	int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);

	if (fd < 0 || pwrite(fd, bytes, JUMP_SIZE, (off_t)(uintptr_t)place) != JUMP_SIZE)
		abort();
	close(fd);
}

// Memory within reach of a jump from `near`.
static uint8_t *map_near(const uint8_t *near)
{
	for (uintptr_t distance = 1 << 20; distance < 1u << 30; distance += 1 << 20) {
		uint8_t *address = (uint8_t *)(((uintptr_t)near & ~(uintptr_t)4095) - distance);
		uint8_t *got = mmap(address, 4096, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

		if (got == address)
			return got;
	}
	abort();
}

static int patch(void)
{
	uint8_t *entry = (uint8_t *)(uintptr_t)malloc, jump[JUMP_SIZE] = { 0xe9 };
	uint64_t leads_to;
	int32_t distance;

	place = memcmp(entry, "\xf3\x0f\x1e\xfa", 4) == 0 ? entry + 4 : entry; // endbr64
	if (*place != 0xe9)
		return 0;
	memcpy(before, place, JUMP_SIZE);
	memcpy(&distance, place + 1, sizeof(distance));
	leads_to = (uint64_t)(uintptr_t)(place + JUMP_SIZE) + (uint64_t)(int64_t)distance;
	code = map_near(place);
	memcpy(code, "\x49\xbb", 2); // movabs $leads_to, %r11
	memcpy(code + 2, &leads_to, sizeof(leads_to));
	memcpy(code + 10, "\x41\xff\xe3", 3); // jmp *%r11
	if (mprotect(code, 4096, PROT_READ | PROT_EXEC) != 0)
		abort();
	distance = (int32_t)(code - (place + JUMP_SIZE));
	memcpy(jump + 1, &distance, sizeof(distance));
	write_text(jump);
	return 1;
}

int main(void)
{
	const char *command;

	say_ready();
	while ((command = next_command())) {
		if (strcmp(command, "patch") == 0) {
			puts(patch() ? "patched" : "nothing");
		} else if (strcmp(command, "unpatch") == 0) {
			write_text(before);
			munmap(code, 4096);
			puts("unpatched");
		} else if (strcmp(command, "work") == 0) {
			for (size_t i = 1; i < 20000; i++) {
				char *volatile block = malloc(i % 300 + 1);

				if (!block)
					return 1;
				memset(block, (int)i, i % 300 + 1);
				free(block);
			}
			puts("worked");
		}
	}
	return 0;
}
