// SPDX-License-Identifier: Apache-2.0
// Which stripped files have code on the stacks that nothing names, and what would name it.
#ifndef HEAPSNAP_SNAPSHOT_SYMBOLS_UNNAMED_CODE_H
#define HEAPSNAP_SNAPSHOT_SYMBOLS_UNNAMED_CODE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

enum { UNNAMED_FILES_MAX = 3 };

// Zeroed = none.
struct unnamed_code {
	struct unnamed_file {
		const char *path;   // borrowed
		size_t count;       // addresses on stacks
	} files[UNNAMED_FILES_MAX]; // those with most, most first
	size_t file_count;
	size_t more; // other files
};

// One file. `count` 0 is left out. `path` must live as long.
void unnamed_code_add(struct unnamed_code *unnamed, const char *path, size_t count);

// "code without symbols: 12 places in libruby-3.1.so.3.1 (package libruby3.1-dbgsym), 3 in x.so". *ret is owned by the
// caller, NULL when there is no such code. `lists`: as for debug_packages_find, NULL = the files are not those that
// dpkg knows. HS_ERROR_NO_MEMORY.
struct hs_error *unnamed_code_text(const struct unnamed_code *unnamed, const char *lists, char **ret) HS_MUST_CHECK;

#endif
