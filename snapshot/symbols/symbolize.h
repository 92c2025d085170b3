// SPDX-License-Identifier: Apache-2.0
// Names, files and lines for the locations of a profile. The files of each module are read by a process of its own that
// has given up its rights (sandbox.h).
#ifndef HEAPSNAP_SNAPSHOT_SYMBOLS_SYMBOLIZE_H
#define HEAPSNAP_SNAPSHOT_SYMBOLS_SYMBOLIZE_H

#include "base/error.h"
#include "snapshot/heap_profile.h"
#include "snapshot/symbols/module_files.h"

#include <stdbool.h>

struct symbol_options {
	bool no_cache;                 // read all anew, and keep nothing on disk (symbol_cache.h)
	struct debuginfod *debuginfod; // asked for debug files that are missing (debuginfod.h); NULL = none is
};

// `files`: of the process that the profile is of, which may have ended since they were opened. Fills functions, lines,
// the line fields, is_allocator and is_wrapper of every location, and the has_* flags of the mappings (see
// heap_profile.h). Files are looked for through /proc/PID/map_files (deleted or replaced files), /proc/PID/root, then
// the path itself, and used only when their build id is that of the module; separate debug files by build id and debug
// link. A location without a symbol keeps line_count 0, or is a guess (heap_profile.h). Only `debuginfod` asks the
// network. A module without a file that can be used is a hs_verbose line; one whose files cannot be read is a warning
// and a line of the ledger. HS_ERROR_NO_MEMORY, and HS_ERROR_INTERRUPTED when a signal has come.
struct hs_error *symbolize_profile(const struct module_files *given, const struct symbol_options *options,
				   struct heap_profile *profile) HS_MUST_CHECK;

#endif
