// SPDX-License-Identifier: Apache-2.0
// What the files of one module say about its addresses: DWARF first, the symbol table otherwise.
#ifndef HEAPSNAP_SNAPSHOT_SYMBOLS_DEBUG_INFO_H
#define HEAPSNAP_SNAPSHOT_SYMBOLS_DEBUG_INFO_H

#include "base/error.h"
#include "snapshot/heap_profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DEBUG_FRAMES_LIMIT = 64 };

struct debug_frame {
	const char *system_name; // linkage name, or the plain name of a C function
	const char *file;        // of `line`; NULL = unknown
	int64_t line;            // 0 = unknown
	int64_t start_line;      // of the function; 0 = unknown
	bool has_linkage_name;   // system_name can be demangled
	uint64_t near;           // no symbol holds the address: system_name's begins so many bytes before; 0 = one does
};

struct debug_info;

// Opens the module's file, which must have the build id of the module; a module without one needs the file that is
// mapped. Files are asked for through `socket` (symbol_files.h). HS_ERROR_NOT_FOUND when there is none. `module` must
// live longer. *ret stays until the process ends.
struct hs_error *debug_info_open(int socket, const struct profile_module *module,
				 struct debug_info **ret) HS_MUST_CHECK;

// `address` as in the file (run-time address less load bias). frames[DEBUG_FRAMES_LIMIT]: innermost inlined
// function first, the function that holds the address last; *count_ret 0 = nothing is known. *has_inlined_ret:
// DWARF describes the function, so its inlined calls are known. The texts are valid until the next lookup.
// HS_ERROR_NO_MEMORY.
// A frame with `near` is the only one, and has neither file nor line.
struct hs_error *debug_info_lookup(struct debug_info *info, uint64_t address, struct debug_frame *frames,
				   size_t *count_ret, bool *has_inlined_ret) HS_MUST_CHECK;

// Whether the code at `address` only allocates for its caller, and the address is in a call by which it does
// (wrapper_finder.h). HS_ERROR_NO_MEMORY.
struct hs_error *debug_info_is_wrapper(struct debug_info *info, uint64_t address, bool *ret) HS_MUST_CHECK;

// Whether the file's own symbols and debug information are gone, so that a file that has them would say more.
bool debug_info_is_stripped(const struct debug_info *info);

#endif
