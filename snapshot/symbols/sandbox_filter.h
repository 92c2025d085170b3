// SPDX-License-Identifier: Apache-2.0
// The system calls that are left to a sandbox. Private to sandbox.c.
#ifndef HEAPSNAP_SNAPSHOT_SYMBOLS_SANDBOX_FILTER_H
#define HEAPSNAP_SNAPSHOT_SYMBOLS_SANDBOX_FILTER_H

#include <stdbool.h>

// For the calling thread, for good. pre: no_new_privs is set. False: the kernel refuses filters.
bool sandbox_filter_install(void);

#endif
