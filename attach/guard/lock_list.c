// SPDX-License-Identifier: Apache-2.0
#include "attach/guard/lock_list.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

enum { READ_BYTES = 4096, MAX_BYTES = 1 << 20, MAX_MS = 200 };

// "3: FLOCK  ADVISORY  WRITE 1234 00:0d:5678 0 EOF". False: not a lock on this file, or of another kind.
static bool read_line(const char *line, const struct stat *file, struct listed_lock *ret)
{
	unsigned device_major, device_minor;
	unsigned long inode;
	char kind[8];

	if (sscanf(line, "%*d: %7s ADVISORY %*s %d %x:%x:%lu %" SCNd64, kind, &ret->pid, &device_major, &device_minor,
		   &inode, &ret->start) != 6 ||
	    inode != file->st_ino || device_major != major(file->st_dev) || device_minor != minor(file->st_dev))
		return false;
	ret->is_flock = strcmp(kind, "FLOCK") == 0;
	return ret->is_flock || strcmp(kind, "OFDLCK") == 0;
}

int lock_list_read(const struct stat *file, lock_list_visit *visit, void *context)
{
	const uint64_t end = hs_thread_ns() + MAX_MS * UINT64_C(1000000); // without what a loaded machine adds
	char buffer[READ_BYTES];
	HS_CLEANUP_FCLOSE FILE *list = fopen("/proc/locks", "re");
	HS_CLEANUP_FREE char *line = NULL;
	size_t capacity = 0, done = 0;
	struct listed_lock lock;
	ssize_t size;

	if (!list)
		return errno;
	setvbuf(list, buffer, _IOFBF, sizeof(buffer)); // one call never reads more
	while (errno = 0, (size = getline(&line, &capacity, list)) > 0) {
		if (read_line(line, file, &lock) && !visit(&lock, context))
			return 0;
		done += (size_t)size;
		if (done > MAX_BYTES || hs_thread_ns() > end)
			return ETIME;
	}
	return errno;
}
