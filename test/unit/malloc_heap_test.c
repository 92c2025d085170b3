// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include "lib/malloc_heap.h"

static const struct {
	const char *name, *maps;
	uint64_t bytes;
} cases[] = {
	{ "none", "", 0 },
	{ "the first arena, in two mappings",
	  "555555554000-555555555000 r-xp 00000000 08:01 7 /bin/app\n"
	  "555555600000-555555610000 rw-p 00000000 00:00 0 [heap]\n"
	  "555555610000-555555611000 ---p 00000000 00:00 0 \n"
	  "555555611000-555555621000 rw-p 00000000 00:00 0 [heap]\n",
	  0x20000 },
	{ "a thread's arena",
	  "7ffff0000000-7ffff0021000 rw-p 00000000 00:00 0 \n"
	  "7ffff0021000-7ffff4000000 ---p 00000000 00:00 0 \n",
	  0x21000 },
	{ "two of them, the first one full, the second one's reserve in one mapping with another",
	  "7fffec000000-7ffff0000000 rw-p 00000000 00:00 0 \n"
	  "7ffff0000000-7ffff0021000 rw-p 00000000 00:00 0 \n"
	  "7ffff0021000-7ffff5000000 ---p 00000000 00:00 0 \n",
	  0x4021000 },
	{ "a mapping at such an address, and nothing reserved behind it",
	  "7ffff0000000-7ffff0021000 rw-p 00000000 00:00 0 \n", 0 },
	{ "the reserve is too small, is elsewhere, or can be read",
	  "7fffe8000000-7fffe8021000 rw-p 00000000 00:00 0 \n"
	  "7fffe8021000-7fffe9000000 ---p 00000000 00:00 0 \n"
	  "7fffec000000-7fffec021000 rw-p 00000000 00:00 0 \n"
	  "7fffec022000-7ffff0000000 ---p 00000000 00:00 0 \n"
	  "7ffff0000000-7ffff0021000 rw-p 00000000 00:00 0 \n"
	  "7ffff0021000-7ffff4000000 r--p 00000000 00:00 0 \n",
	  0 },
	{ "not at such an address",
	  "7ffff0001000-7ffff0021000 rw-p 00000000 00:00 0 \n"
	  "7ffff0021000-7ffff4001000 ---p 00000000 00:00 0 \n",
	  0 },
	{ "larger than a heap",
	  "7fffe0000000-7fffe4001000 rw-p 00000000 00:00 0 \n"
	  "7fffe4001000-7fffe8000000 ---p 00000000 00:00 0 \n",
	  0 },
	{ "larger, shared, or of a file",
	  "7fffe0000000-7fffe4001000 rw-p 00000000 00:00 0 \n"
	  "7fffe8000000-7fffe8021000 rw-s 00000000 00:05 9 /dev/zero (deleted)\n"
	  "7fffe8021000-7fffec000000 ---p 00000000 00:00 0 \n"
	  "7fffec000000-7ffff0000000 rw-p 00000000 08:01 7 /data\n"
	  "7ffff0000000-7ffff4000000 r--p 00000000 00:00 0 \n",
	  0 },
};

int main(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct proc_maps maps;
		char got[200], expected[200];

		CHECK(!proc_maps_parse(cases[i].maps, strlen(cases[i].maps), &maps));
		snprintf(got, sizeof(got), "%s: %" PRIu64, cases[i].name, malloc_heap_bytes(&maps));
		snprintf(expected, sizeof(expected), "%s: %" PRIu64, cases[i].name, cases[i].bytes);
		CHECK_STRING(got, expected);
		proc_maps_deinit(&maps);
	}
	return CHECK_RESULT();
}
