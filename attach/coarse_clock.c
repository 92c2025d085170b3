// SPDX-License-Identifier: Apache-2.0
#include "attach/coarse_clock.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "base/log.h"
#include "inject/abi/limits.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { WORDS = HS_PAGE_SIZE / sizeof(uint64_t), TICKS_COMPARED = 3, TICK_WAIT_MAX_MS = 50 };

static const struct proc_map *find_data_page(const struct proc_maps *maps)
{
	for (size_t i = 0; i < maps->count; i++)
		if (strcmp(maps->items[i].name, "[vvar]") == 0)
			return &maps->items[i];
	return NULL;
}

static bool same_time_namespace(pid_t pid)
{
	HS_CLEANUP_FREE char *path = NULL;
	char theirs[64] = "", ours[64] = "";
	struct hs_error *error = hs_format(&path, "/proc/%d/ns/time", pid);

	if (error) {
		hs_error_destroy(error);
		return false;
	}
	// A kernel without time namespaces has neither link.
	if (readlink("/proc/self/ns/time", ours, sizeof(ours) - 1) < 0)
		return true;
	return readlink(path, theirs, sizeof(theirs) - 1) > 0 && strcmp(theirs, ours) == 0;
}

// Keeps those candidates whose two words equal the clock now. A tick in between is no mismatch: then it is looked at once more.
static size_t compare_words(const volatile uint64_t *page, size_t *candidates, size_t count)
{
	struct timespec before, after;
	size_t kept, found[WORDS];

	do {
		clock_gettime(CLOCK_MONOTONIC_COARSE, &before);
		kept = 0;
		for (size_t i = 0; i < count; i++)
			if (page[candidates[i]] == (uint64_t)before.tv_sec && page[candidates[i] + 1] == (uint64_t)before.tv_nsec)
				found[kept++] = candidates[i];
		clock_gettime(CLOCK_MONOTONIC_COARSE, &after);
	} while (before.tv_nsec != after.tv_nsec || before.tv_sec != after.tv_sec);
	memcpy(candidates, found, kept * sizeof(*candidates));
	return kept;
}

static void wait_for_tick(void)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	struct timespec begin, now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &begin);
	for (int i = 0; i < TICK_WAIT_MAX_MS; i++) {
		nanosleep(&pause, NULL);
		clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
		if (now.tv_nsec != begin.tv_nsec)
			return;
	}
}

// The offset in the page, bytes; SIZE_MAX = not found.
static size_t find_offset(const volatile uint64_t *page)
{
	size_t candidates[WORDS], count = 0;

	for (size_t i = 0; i + 1 < WORDS; i++)
		candidates[count++] = i;
	count = compare_words(page, candidates, count);
	for (int tick = 0; tick < TICKS_COMPARED && count; tick++) {
		wait_for_tick();
		count = compare_words(page, candidates, count);
	}
	return count ? candidates[0] * sizeof(uint64_t) : SIZE_MAX;
}

uint64_t coarse_clock_find(pid_t pid, const struct proc_maps *maps)
{
	const struct proc_map *theirs = find_data_page(maps), *ours;
	struct proc_maps own;
	uint64_t address = 0;
	struct hs_error *error;

	if (!theirs || !theirs->readable || !same_time_namespace(pid))
		return 0;
	error = proc_maps_read(getpid(), &own);
	if (error) {
		hs_error_destroy(error);
		return 0;
	}
	ours = find_data_page(&own);
	// The time data are in the first page; of the others, some may not be there to be read.
	if (ours && ours->end - ours->start == theirs->end - theirs->start) {
		size_t offset = find_offset((const volatile uint64_t *)ours->start);

		if (offset != SIZE_MAX)
			address = theirs->start + offset;
	}
	proc_maps_deinit(&own);
	if (!address)
		hs_verbose("the kernel's coarse clock was not found; the payload reads the time-stamp counter");
	return address;
}
