// SPDX-License-Identifier: Apache-2.0
#include "attach/guard/memory_lock.h"

#include "base/error.h"
#include "base/proc_maps.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

// include/uapi/asm-generic/mman-common.h, since Linux 5.14; newer than the C library's headers may be.
#define HS_MADV_POPULATE_READ 22
// More than any limit of locked memory, less than the address space.
#define LARGE_MAPPING (UINT64_C(1) << 40)

// With MCL_FUTURE a mapping beyond the limit fails (mlock_future_ok in mm/mmap.c), and regions are large. Whether there
// is a limit for this process depends on the user namespace that its capabilities are of: tried out.
static void lock_what_comes(void)
{
	void *large;

	if (mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) != 0)
		return;
	large = mmap(NULL, LARGE_MAPPING, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (large == MAP_FAILED)
		munlockall();
	else
		munmap(large, LARGE_MAPPING);
}

void memory_lock(void)
{
	HS_CLEANUP_PROCESS struct process own = PROCESS_CLOSED;
	struct proc_maps maps;
	struct hs_error *error;

	lock_what_comes();
	error = process_glance(getpid(), &own);
	if (!error)
		error = proc_maps_read(&own, &maps);
	if (error) {
		hs_error_destroy(error);
		return;
	}
	for (size_t i = 0; i < maps.count; i++) {
		const struct proc_map *map = &maps.items[i];
		void *start = (void *)(uintptr_t)map->start;

		if (map->inode == 0 || map->shared || !map->readable)
			continue;
		if (mlock(start, map->end - map->start) != 0)
			(void)madvise(start, map->end - map->start, HS_MADV_POPULATE_READ);
	}
	proc_maps_deinit(&maps);
}

void memory_unlock(void) { munlockall(); }
