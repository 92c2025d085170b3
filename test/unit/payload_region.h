// SPDX-License-Identifier: Apache-2.0
// The payload's own files, compiled for the host, at work in a made-up region.
#ifndef HEAPSNAP_TEST_UNIT_PAYLOAD_REGION_H
#define HEAPSNAP_TEST_UNIT_PAYLOAD_REGION_H

#include "made_region.h"

#include "../unwind/payload_config.h"

#include <pthread.h>
#include <unistd.h>

enum { PAYLOAD_REGION_PAGES = 17000 }; // at most

static uint8_t *payload_region_place;
static struct payload_state payload_region_state = { .active = 1, .present = 1 };

// Every region of a test lies at the same place, chosen before main: for the payload its address is constant, and the
// compiler counts on that.
#ifndef PAYLOAD_CONFIG
#define PAYLOAD_CONFIG // further fields of struct payload_config
#endif
#ifndef PAYLOAD_BEYOND
#define PAYLOAD_BEYOND 0 // bytes of address space behind the largest region
#endif

// One process in 4,096 has a thread pointer whose hash is that of 0: the slot there is nobody's, so its thread has none
// with a place of its own, and a small region has no room for another. thread_slot_test has that case; any other test
// begins again, with another thread pointer. (glibc gives constructors what it gives main.)
static inline void payload_region_choose_thread_pointer(char **arguments)
{
	static const char tried[] = "HEAPSNAP_TEST_TRIED";

	if (thread_slot_index((uint64_t)__builtin_thread_pointer()) != thread_slot_index(0))
		return;
	if (getenv(tried) || setenv(tried, "1", 1) != 0 || execv("/proc/self/exe", arguments) != 0) {
		fprintf(stderr, "the thread's hash is that of 0, twice: are addresses not random here?\n");
		exit(1);
	}
}

__attribute__((constructor)) static void payload_region_reserve(int count, char **arguments)
{
	struct payload_config config = { PAYLOAD_CONFIG };

	(void)count;
	payload_region_choose_thread_pointer(arguments);

	payload_region_place = mmap(NULL, HS_OFFSET_PAGES + (PAYLOAD_REGION_PAGES + 1) * HS_PAGE_SIZE + PAYLOAD_BEYOND,
				    PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (payload_region_place == MAP_FAILED) {
		perror("no address space for a region");
		exit(1);
	}
	if (!config.main_thread_pointer)
		config.main_thread_pointer = (uint64_t)__builtin_thread_pointer();
	config.region = (uint64_t)payload_region_place;
	config.state = (uint64_t)&payload_region_state;
	payload_configure(&config);
}

// Puts a file of its own under the place, as in a target: then it can be mapped once more, by a reader. Before the
// first region.
static int payload_region_fd = -1;

static inline void payload_region_share(void)
{
	size_t size = HS_OFFSET_PAGES + (PAYLOAD_REGION_PAGES + 1) * HS_PAGE_SIZE;

	payload_region_fd = memfd_create("region", MFD_CLOEXEC);
	if (payload_region_fd < 0 || ftruncate(payload_region_fd, (off_t)size) != 0 ||
	    mmap(payload_region_place, size, PROT_NONE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, payload_region_fd, 0) ==
		    MAP_FAILED)
		exit(1);
}

// An empty region with `pages` pages that can be handed out; behind them no access. One at a time.
static inline void payload_region_init(struct made_region *region, uint64_t pages)
{
	uint64_t size = HS_OFFSET_PAGES + pages * HS_PAGE_SIZE;

	if (pages > PAYLOAD_REGION_PAGES || mprotect(payload_region_place, size, PROT_READ | PROT_WRITE) != 0)
		exit(1);
	*region = (struct made_region){ .bytes = payload_region_place, .size = size };
	region->header = (struct region_header *)region->bytes;
	made_region_begin(region->bytes, size);
	memset(payload_region_state.bloom, 0, sizeof(payload_region_state.bloom));
	memset(payload_region_state.credits, 0, sizeof(payload_region_state.credits));
}

static inline void payload_region_deinit(struct made_region *region)
{
	if (madvise(region->bytes, region->size, MADV_DONTNEED) != 0 ||
	    mprotect(region->bytes, region->size, PROT_NONE) != 0)
		exit(1);
}

// Runs `work` in `count` threads that begin together; each gets its number.
struct worker {
	void (*work)(unsigned number);
	pthread_barrier_t *barrier;
	unsigned number;
	pthread_t thread;
};

static void *worker_main(void *context)
{
	struct worker *worker = context;

	pthread_barrier_wait(worker->barrier);
	worker->work(worker->number);
	return NULL;
}

static inline void run_together(unsigned count, void (*work)(unsigned number))
{
	struct worker workers[16];
	pthread_barrier_t barrier;

	pthread_barrier_init(&barrier, NULL, count);
	for (unsigned i = 0; i < count; i++) {
		workers[i] = (struct worker){ .work = work, .barrier = &barrier, .number = i };
		if (pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]) != 0)
			exit(1);
	}
	for (unsigned i = 0; i < count; i++)
		pthread_join(workers[i].thread, NULL);
	pthread_barrier_destroy(&barrier);
}

#endif
