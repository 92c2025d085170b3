// SPDX-License-Identifier: Apache-2.0
// The file system of memory files.
#ifndef HEAPSNAP_ATTACH_PROCESS_MEMORY_DEVICE_H
#define HEAPSNAP_ATTACH_PROCESS_MEMORY_DEVICE_H

#include <sys/types.h>

// The device of the kernel's own file system for memory files and anonymous shared memory, the same in all namespaces.
// 0 = unknown.
dev_t memory_file_device(void);

#endif
