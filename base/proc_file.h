// SPDX-License-Identifier: Apache-2.0
// Files of a process and of a thread under /proc (proc(5)).
#ifndef HEAPSNAP_BASE_PROC_FILE_H
#define HEAPSNAP_BASE_PROC_FILE_H

#include "error.h"

#include <stddef.h>
#include <sys/types.h>

// Reads /proc/PID/`file`, and /proc/PID/task/TID/`file`. *text_ret is owned by the caller and has a 0 byte after its
// bytes, which are counted in *size_ret unless that is NULL. HS_ERROR_BAD_DATA when the file is longer than 64 KiB.
struct hs_error *hs_read_proc_file(pid_t pid, const char *file, char **text_ret, size_t *size_ret) HS_MUST_CHECK;
struct hs_error *hs_read_task_file(pid_t pid, pid_t tid, const char *file, char **text_ret,
				   size_t *size_ret) HS_MUST_CHECK;

#endif
