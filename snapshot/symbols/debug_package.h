// SPDX-License-Identifier: Apache-2.0
// Which package of the distribution has the debug information of a file: by the lists that dpkg keeps. Nothing is
// executed.
#ifndef HEAPSNAP_SNAPSHOT_SYMBOLS_DEBUG_PACKAGE_H
#define HEAPSNAP_SNAPSHOT_SYMBOLS_DEBUG_PACKAGE_H

#include "base/error.h"

#include <stddef.h>

#define DEBUG_PACKAGE_LISTS "/var/lib/dpkg/info"

// names_ret[i]: the package for the file paths[i], as apt knows it ("libruby3.1-dbgsym"), owned by the caller; NULL =
// no package has the file, or the machine has no such lists. `lists`: the folder of dpkg's *.list files. A path is the
// same with and without /usr before it. HS_ERROR_NO_MEMORY; names_ret is then all NULL.
struct hs_error *debug_packages_find(const char *lists, const char *const *paths, size_t count,
				     char **names_ret) HS_MUST_CHECK;

#endif
