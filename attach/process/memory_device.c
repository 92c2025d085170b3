// SPDX-License-Identifier: Apache-2.0
#include "attach/process/memory_device.h"

#include "base/cleanup.h"

#include <sys/mman.h>
#include <sys/stat.h>

dev_t memory_file_device(void)
{
	static dev_t device;

	if (!device) {
		HS_CLEANUP_CLOSE int fd = memfd_create("device", MFD_CLOEXEC);
		struct stat status;

		if (fd >= 0 && fstat(fd, &status) == 0)
			device = status.st_dev;
	}
	return device;
}
