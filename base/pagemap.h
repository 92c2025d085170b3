// SPDX-License-Identifier: Apache-2.0
// Entries of /proc/PID/pagemap, of 8 bytes for each page (Documentation/admin-guide/mm/pagemap.rst).
#ifndef HEAPSNAP_BASE_PAGEMAP_H
#define HEAPSNAP_BASE_PAGEMAP_H

#include <stdint.h>

#define PAGEMAP_PRESENT (UINT64_C(1) << 63)
#define PAGEMAP_SWAPPED (UINT64_C(1) << 62)
#define PAGEMAP_FILE    (UINT64_C(1) << 61) // file page or shared memory: not a private copy
#define PAGEMAP_GUARD                                                                                                  \
	(UINT64_C(1)                                                                                                   \
	 << 58) // MADV_GUARD_INSTALL, since Linux 6.15; before, such a page is "swapped", and cannot be read
#define PAGEMAP_UFFD_WP (UINT64_C(1) << 57) // write-protected by userfaultfd(2)

#endif
