// SPDX-License-Identifier: Apache-2.0
// Memory files that the target makes for the tool, and the proof that a descriptor or a mapping is one.
//
// A number in a target's descriptor table can stand for anything: another process may share the table and exchange the
// entry at any moment, and a descriptor of any file can be had without a right to it (O_PATH). So nothing is written,
// sealed, truncated or closed by its number or its name alone. These properties prove a file ours, because nobody
// else can give them to one: its file system is the kernel's own for memory files, which nobody can mount or make files
// in but by memfd_create and the like; its name there (code_names.h); and that it is new and empty, or else whose it is
// and that it has our content.
#ifndef HEAPSNAP_ATTACH_PROCESS_MEMORY_FILE_H
#define HEAPSNAP_ATTACH_PROCESS_MEMORY_FILE_H

#include "attach/process/code_names.h"
#include "base/error.h"
#include "base/proc_maps.h"
#include "base/process.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

// Whether the mapping is of a memory file of ours, by device, name and, where that can be seen, owner.
bool memory_file_is_mapped(const struct process *process, const struct code_names *names, const struct proc_map *map);

// The file that thread `tid` has made under `name` and got as `number`: proven to be new, empty, unsealed and of that
// name, on the descriptor that is returned. HS_ERROR_REFUSED: something else is there. pre: the thread stands still
// since then.
struct hs_error *memory_file_take(const struct process *process, pid_t tid, int64_t number, const char *name,
				  int *fd_ret) HS_MUST_CHECK;

// Whether the thread has the file that is the tool's `fd` under that number now.
bool memory_file_is_at(const struct process *process, pid_t tid, int64_t number, int fd);

// Whether that file is what is mapped at `address`, `size` bytes of it.
struct hs_error *memory_file_is_mapped_at(const struct process *process, uint64_t address, uint64_t size, int fd,
					  bool *ret) HS_MUST_CHECK;

// Whether a link in a thread's folder of descriptors has a name of ours. Takes nothing; the proof is to follow.
bool memory_file_may_be_left(const struct code_names *names, int directory, const char *number);

// Whether the thread has under that number a memory file of ours, by device, name and owner, with a content that a
// killed attach can have left. Opens nothing.
bool memory_file_is_left(const struct process *process, const struct code_names *names, pid_t tid, int64_t number);

#endif
