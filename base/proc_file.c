// SPDX-License-Identifier: Apache-2.0
#include "base/proc_file.h"

#include "base/io.h"

#include <stdio.h>

enum { PROC_FILE_LIMIT = 1 << 16 };

static struct hs_error *read_limited(const char *path, char **text_ret, size_t *size_ret)
{
	size_t size;

	return hs_read_file(path, PROC_FILE_LIMIT, text_ret, size_ret ? size_ret : &size);
}

struct hs_error *hs_read_proc_file(pid_t pid, const char *file, char **text_ret, size_t *size_ret)
{
	char path[96];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	return read_limited(path, text_ret, size_ret);
}

struct hs_error *hs_read_task_file(pid_t pid, pid_t tid, const char *file, char **text_ret, size_t *size_ret)
{
	char path[96];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)pid, (int)tid, file);
	return read_limited(path, text_ret, size_ret);
}
