// SPDX-License-Identifier: Apache-2.0
// Memory files that the target makes for the tool, and the proof that a descriptor or a mapping is one.
//
// What stands under a number in a target's table of descriptors can be anything: another process may share the table and exchange it at any
// moment, and a descriptor of any file can be had without a right to it (O_PATH). So nothing is written, sealed, truncated or closed by its
// number or its name alone. What nobody else can give a file: its file system is the kernel's own for memory files, which nobody can mount or make
// files in but by memfd_create and the like; its name there, with 64 random bits; and that it is new and empty.
#ifndef HEAPSNAP_ATTACH_MEMORY_FILE_H
#define HEAPSNAP_ATTACH_MEMORY_FILE_H

#include "base/error.h"
#include "base/proc_maps.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

// Name of our memory files, as /proc/PID/maps and /proc/PID/fd show it after "/memfd:"; a hyphen and 16 random hexadecimal digits follow.
#define HS_CODE_NAME "heapsnap-code"
#define HS_MEMORY_FILE_NAME_SIZE 40

// A fresh name for one file.
struct hs_error *memory_file_name(char ret[HS_MEMORY_FILE_NAME_SIZE]) HS_MUST_CHECK;

// Pure: whether it is a name of ours, as /proc/PID/maps gives it.
bool memory_file_is_named(const char *name);

// Whether the mapping is of a memory file that has a name of ours: the device tells it from other files of that name.
bool memory_file_is_mapped(const struct proc_map *map);

// The device of the kernel's own file system for memory files and anonymous shared memory, the same in all namespaces. 0 = unknown.
dev_t memory_file_device(void);

// The file that thread `tid` has made under `name` and got as `number`: proven to be new, empty, unsealed and of that name, on the descriptor that is
// returned. HS_ERROR_REFUSED: something else is there. pre: the thread stands still since then.
struct hs_error *memory_file_take(pid_t pid, pid_t tid, int64_t number, const char *name, int *fd_ret) HS_MUST_CHECK;

// Whether the thread has the file that is the tool's `fd` under that number now.
bool memory_file_is_at(pid_t pid, pid_t tid, int64_t number, int fd);

// Whether that file is what is mapped at `address`, `size` bytes of it.
struct hs_error *memory_file_is_mapped_at(pid_t pid, uint64_t address, uint64_t size, int fd, bool *ret) HS_MUST_CHECK;

// Whether the thread has under that number a memory file with a name of ours and a content that a killed attach can have left. Opens nothing.
bool memory_file_is_left(pid_t pid, pid_t tid, int64_t number);

#endif
