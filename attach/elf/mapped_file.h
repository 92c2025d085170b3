// SPDX-License-Identifier: Apache-2.0
// The file behind a mapping of the target.
#ifndef HEAPSNAP_ATTACH_ELF_MAPPED_FILE_H
#define HEAPSNAP_ATTACH_ELF_MAPPED_FILE_H

#include "attach/process/memory.h"
#include "base/error.h"
#include "base/proc_maps.h"
#include "base/process.h"

// Opens it for reading. map_files leads to the mapped file itself, also when it is deleted or in another mount
// namespace, but needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE (proc(5)). The program's own file can be had by `exe` as
// well, for which tracing it suffices. A path, and `exe`, may name another file, so they are compared;
// HS_ERROR_NOT_FOUND when it is another.
struct hs_error *mapped_file_open(const struct process *process, const struct proc_map *map,
				  const struct target_memory *memory, int *fd_ret) HS_MUST_CHECK;

#endif
