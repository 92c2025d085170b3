// SPDX-License-Identifier: Apache-2.0
// A cut waits for threads that are in the middle of writing into the log of the dump before, and does not wait for
// ever.
#include "check.h"
#include "made_region.h"

#include "attach/guard/interrupt.h"
#include "snapshot/copy/running_cut.h"

#include <unistd.h>

enum { PAGES = 16, LIMIT = 4096, TAKEN = LIMIT / 2 + 1, GENERATION = 7 };

static struct region_header *header;
static struct log_entry *entries;
static struct region_access shared = { .layout = &region_layout_own, .memory.fd = -1 };

// The log of a dump that is over, all of it complete but for the last entry.
static void begin(void)
{
	uint8_t *bytes;

	shared.size = HS_OFFSET_PAGES + PAGES * HS_PAGE_SIZE;
	shared.fd = memfd_create("region", MFD_CLOEXEC);
	bytes = shared.fd >= 0 && ftruncate(shared.fd, (off_t)shared.size) == 0
			? mmap(NULL, shared.size, PROT_READ | PROT_WRITE, MAP_SHARED, shared.fd, 0)
			: MAP_FAILED;
	if (bytes == MAP_FAILED) {
		perror("no memory for a region");
		exit(1);
	}
	made_region_begin(bytes, shared.size);
	header = (struct region_header *)bytes;
	entries = (struct log_entry *)(bytes + HS_OFFSET_LOG);
	header->log_limit = LIMIT;
	header->log_taken = (uint64_t)GENERATION << 32 | TAKEN;
	for (unsigned i = 0; i + 1 < TAKEN; i++)
		entries[i].generation = GENERATION;
}

static void end(void)
{
	munmap(header, shared.size);
	close(shared.fd);
}

static bool completes_late;

// A cut that waits asks for signals before each pause. There the thread gets a processor that was writing.
struct hs_error *interrupt_check(void)
{
	if (completes_late)
		__atomic_store_n(&entries[TAKEN - 1].generation, GENERATION, __ATOMIC_RELEASE);
	return NULL;
}

struct hs_error *fault_point(const char *step)
{
	(void)step;
	return NULL;
}

void fault_request(void) {}
void fault_kills(pid_t pid) { (void)pid; }

static void test_cut(bool completes)
{
	struct running_cut cut;
	enum running_obstacle obstacle;

	begin();
	CHECK(running_cut_open(&shared, &cut, &obstacle) == NULL);
	CHECK_EQUAL(obstacle, OBSTACLE_none);
	completes_late = completes;
	CHECK(running_cut_begin(&cut, &obstacle) == NULL);
	if (completes) {
		CHECK_EQUAL(obstacle, OBSTACLE_none);
		CHECK_EQUAL(header->log_taken, (uint64_t)(GENERATION + 1) << 32);
		CHECK_EQUAL(header->removal_flags, REMOVAL_LOGS);
		running_cut_end(&cut, &obstacle);
		CHECK_EQUAL(obstacle, OBSTACLE_none);
	} else {
		CHECK_EQUAL(obstacle, OBSTACLE_log_in_use);
		CHECK_EQUAL(header->log_taken, (uint64_t)GENERATION << 32 | TAKEN);
	}
	CHECK_EQUAL(header->removal_flags, 0);
	completes_late = false;
	running_cut_close(&cut);
	end();
}

int main(void)
{
	test_cut(true);
	test_cut(false);
	return CHECK_RESULT();
}
