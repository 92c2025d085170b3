// SPDX-License-Identifier: Apache-2.0
// Uses the places of heapsnap's code for memory of its own, as a program may once a detach that was killed later has
// unmapped that. Commands: "work" makes and frees blocks: "worked"; "take memory", "take file" (code of this program's
// file), "take anonymous code" (as a compiler at run time makes it; a thread runs in it) and "take state pages" (memory
// in the place of these alone, a page less): "taken N", how many mappings; "check": "ok", if what was mapped there is
// as it was.
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "commands.h"

enum { PLACES_MAX = 64, STATE_MAX = 1 << 20, PAGE = 4096 };

static struct place {
	uint8_t *low, *high;
} places[PLACES_MAX];
static int place_count;
static bool is_file, is_code, only_state;

// The mappings of the code, and the one right behind the first of them, which goes with it.
static int find_places(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	uintptr_t low, high, state = 0;
	bool has_image = false;
	char line[512];

	place_count = 0;
	while (maps && fgets(line, sizeof(line), maps) && place_count < PLACES_MAX) {
		bool is_ours = strstr(line, "/memfd:heapsnap-code-") != NULL;

		if (sscanf(line, "%lx-%lx", &low, &high) != 2)
			return 0;
		if ((is_ours && !only_state) || (low == state && high - low <= STATE_MAX))
			places[place_count++] = (struct place){ (uint8_t *)low, (uint8_t *)high };
		state = is_ours && !has_image ? high : 0;
		has_image |= is_ours;
	}
	if (maps)
		fclose(maps);
	return place_count;
}

static uint8_t pattern(size_t i)
{
	static const uint8_t loop[] = { 0xf3, 0x90, 0xeb, 0xfc }; // pause ; jmp to it

	return is_code && i < sizeof(loop) ? loop[i] : (uint8_t)(i * 7 + 1);
}

static void *run(void *code) { return ((void *(*)(void))(uintptr_t)code)(); }

static int take(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	pthread_t thread;

	for (int i = 0; i < place_count; i++) {
		struct place *place = &places[i];
		size_t size = (size_t)(place->high - place->low);
		void *memory;

		if (only_state) {
			munmap(place->low, size);
			size -= PAGE;
			place->high -= PAGE;
		}
		memory = is_file ? mmap(place->low, size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0)
				 : mmap(place->low, size, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

		if (memory != place->low)
			return 0;
		for (size_t j = 0; !is_file && j < size; j++)
			place->low[j] = pattern(j);
		if (is_code && mprotect(place->low, size, PROT_READ | PROT_EXEC) != 0)
			return 0;
	}
	close(fd);
	if (is_code && pthread_create(&thread, NULL, run, places[place_count - 1].low) != 0)
		return 0;
	return place_count;
}

static bool is_as_it_was(void)
{
	for (int i = 0; i < place_count; i++) {
		struct place *place = &places[i];

		if (is_file && memcmp(place->low,
				      "\x7f"
				      "ELF",
				      4) != 0)
			return false;
		for (size_t j = 0; !is_file && j < (size_t)(place->high - place->low); j++)
			if (place->low[j] != pattern(j))
				return false;
	}
	return place_count > 0;
}

static void work(void)
{
	static void *volatile blocks[1000];

	for (size_t i = 0; i < 1000; i++)
		blocks[i] = malloc(i + 1);
	for (size_t i = 0; i < 1000; i++)
		free(blocks[i]);
}

int main(void)
{
	const char *command;

	say_ready();
	while ((command = next_command())) {
		if (strcmp(command, "work") == 0) {
			work();
			puts("worked");
		} else if (strncmp(command, "take ", 5) == 0) {
			is_file = strcmp(command, "take file") == 0;
			is_code = strcmp(command, "take anonymous code") == 0;
			only_state = strcmp(command, "take state pages") == 0;
			printf("taken %d\n", find_places() ? take() : 0);
		} else {
			puts(is_as_it_was() ? "ok" : "changed");
		}
	}
	return 0;
}
