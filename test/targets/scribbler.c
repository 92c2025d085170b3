// SPDX-License-Identifier: Apache-2.0
// Lies to the tool: writes random words over its own region while it is attached. Allocates nothing by itself
// meanwhile, so its own hooks do not meet the lies. Commands, one a line; each is answered:
//   seals            tries to cut and to grow the region without privilege, by map_files: "sealed", or what went. (Who
//                    may open map_files could)
//   scribble PART    a thread begins to write into PART (see `parts`), from a copy of the honest region on:
//                    "scribbling"
//   rest             it stops, and the region is as it was: "rests"
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "inject/abi/region.h"

enum { PAGES = 256 };

static const struct part {
	const char *name;
	uint64_t offset, size;
} parts[] = {
	{ "header", 0, sizeof(struct region_header) },
	{ "hooks", HS_OFFSET_HOOKS, 64 * sizeof(struct hook_record) },
	{ "modules", HS_OFFSET_MODULES, 64 * sizeof(struct module_record) },
	{ "strings", HS_OFFSET_STRINGS, 4096 },
	{ "slots", HS_OFFSET_SLOTS, 64 * HS_SLOT_STRIDE },
	{ "buckets", HS_OFFSET_BUCKETS, HS_STACK_BUCKETS * sizeof(uint32_t) },
	{ "root", HS_OFFSET_ROOT, 65536 },
	{ "wide", HS_OFFSET_ROOT + HS_WIDE_ROOT * sizeof(uint32_t),
	  (HS_ROOT_ENTRIES - HS_WIDE_ROOT) * sizeof(uint32_t) },
	{ "samples", HS_OFFSET_SAMPLES, HS_SAMPLE_TABLE_SIZE },
	{ "pages", HS_OFFSET_PAGES, PAGES *HS_PAGE_SIZE },
	{ "all", 0, 0 },
};
enum { PARTS = sizeof(parts) / sizeof(parts[0]), ALL = PARTS - 1 };

static uint8_t *region;
static uint64_t region_size;
static uint8_t *honest[PARTS];
static _Atomic int part_now = -1; // index into parts; -1 = none
static _Atomic int is_writing;

// Without stdio: its buffers are allocated.
static void find_region(char *range, size_t range_size)
{
	static char text[1 << 16];
	int fd = open("/proc/self/maps", O_RDONLY);
	size_t size = 0;
	ssize_t got;
	char *line, *start;

	while (fd >= 0 && (got = read(fd, text + size, sizeof(text) - 1 - size)) > 0)
		size += (size_t)got;
	close(fd);
	text[size] = 0;
	line = strstr(text, "/dev/zero (deleted)");
	if (!line)
		exit(3);
	for (start = line; start > text && start[-1] != '\n';)
		start--;
	snprintf(range, range_size, "%.*s", (int)strcspn(start, " "), start);
	region = (uint8_t *)strtoull(start, &start, 16);
	region_size = strtoull(start + 1, NULL, 16) - (uint64_t)region;
}

static uint64_t random_word(void)
{
	static uint64_t state = 88172645463325252u; // xorshift64 (Marsaglia, 2003)

	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

// Numbers that mean something here, besides those that do not.
static uint64_t lie(void)
{
	uint64_t word = random_word();

	switch (word >> 60) {
	case 0:
		return 0;
	case 1:
		return UINT64_MAX;
	case 2:
		return HS_OFFSET_PAGES >> HS_REF_SHIFT | word << 40 >> 52;
	case 3:
		return (HS_OFFSET_PAGES / HS_PAGE_SIZE + word % PAGES) * UINT64_C(0x100000001);
	case 4:
		return (uint64_t)region + word % region_size;
	case 5:
		return word & 0xff;
	case 6:
		return UINT64_C(1) << (word & 63);
	default:
		return word;
	}
}

static void *scribble(void *unused)
{
	for (;; usleep(part_now < 0 ? 1000 : 1)) {
		is_writing = 1;
		for (int i = 0; i < 64 && part_now >= 0; i++) {
			const struct part *part = &parts[part_now == ALL ? random_word() % ALL : (uint64_t)part_now];

			if (part->size + part->offset <= region_size)
				*(volatile uint64_t *)(region + part->offset + random_word() % (part->size / 8) * 8) =
					lie();
		}
		is_writing = 0;
	}
	return unused;
}

static void copy(int to_region)
{
	for (int i = 0; i < ALL; i++) {
		if (to_region)
			memcpy(region + parts[i].offset, honest[i], parts[i].size);
		else
			memcpy(honest[i], region + parts[i].offset, parts[i].size);
	}
}

static const char *try_seals(const char *range)
{
	const bool root = geteuid() == 0;
	const char *answer = "sealed";
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/map_files/%s", range);
	if (root && seteuid(65534) != 0)
		return "cannot become an ordinary user";
	fd = open(path, O_RDWR);
	if (fd >= 0)
		answer = "the region can be opened without privilege";
	else if (truncate(path, 4096) == 0 || truncate(path, (off_t)region_size * 2) == 0)
		answer = "the region was cut or grown by its path";
	if (fd >= 0)
		close(fd);
	if (root && (seteuid(0) != 0 || prctl(PR_SET_DUMPABLE, 1) != 0))
		return "cannot become root again";
	return answer;
}

static void say(const char *text)
{
	char line[128];

	write(STDOUT_FILENO, line, (size_t)snprintf(line, sizeof(line), "%s\n", text));
}

int main(void)
{
	char command[64], range[64] = "";
	pthread_t thread;
	ssize_t size;
	void *volatile block = malloc(1000);

	for (int i = 0; i < ALL; i++)
		honest[i] = mmap(NULL, parts[i].size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	say("ready");
	while ((size = read(STDIN_FILENO, command, sizeof(command) - 1)) > 0) {
		command[size - 1] = 0;
		if (!region) { // attached by now: something to be seen, then no allocation any more
			free(block);
			for (int i = 1; i < 100; i++)
				block = malloc((size_t)i * 10);
			pthread_create(&thread, NULL, scribble, NULL);
			find_region(range, sizeof(range));
			copy(0);
		}
		if (strcmp(command, "seals") == 0) {
			say(try_seals(range));
		} else if (strcmp(command, "rest") == 0) {
			part_now = -1;
			while (is_writing)
				;
			copy(1);
			say("rests");
		} else {
			for (int i = 0; i < PARTS; i++)
				if (strcmp(command + strlen("scribble "), parts[i].name) == 0)
					part_now = i;
			say("scribbling");
		}
	}
	_exit(0);
}
