// SPDX-License-Identifier: Apache-2.0
// The name of a profile's file where the user has given a folder only.
#ifndef HEAPSNAP_LIB_DUMP_PATH_H
#define HEAPSNAP_LIB_DUMP_PATH_H

#include "base/error.h"
#include "base/process.h"
#include "lib/profile_format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Pure: whether it names a folder: it ends with a slash.
bool hs_output_is_folder(const char *output);

// Where the profile of a process goes: `output` itself, or in it, where it is a folder, a file of the process's name
// and number and the present time. *ret is the caller's (free). HS_ERROR_NO_MEMORY.
struct hs_error *hs_dump_path(const char *output, enum profile_format format, const struct process *process,
			      char **ret) HS_MUST_CHECK;

// The name that the process has chosen, as it is now; "" where it cannot be read. `size` is not 0.
void hs_process_name(const struct process *process, char *ret, size_t size);

// Pure: "DIR/redis-server.1234.20261127T130501Z.pb.gz", with the ending of the format. Of the name, which the process
// has chosen, letters, digits and
// "-_+." stay, at the beginning no point; else a "_" stands for each byte, and "process" for no name. `seconds` since
// 1970. `snapshot`: the number of one of several, before the ending; 0 = none. *ret is the caller's (free).
// HS_ERROR_NO_MEMORY.
struct hs_error *dump_path_make(const char *folder, const char *name, uint32_t number, int64_t seconds,
				unsigned snapshot, enum profile_format format, char **ret) HS_MUST_CHECK;

#endif
