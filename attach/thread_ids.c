// SPDX-License-Identifier: Apache-2.0
#include "attach/thread_ids.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "base/proc_file.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

static char *thread_status(pid_t pid, pid_t tid)
{
	char *text = NULL;
	struct hs_error *error = hs_read_task_file(pid, tid, "status", &text, NULL);

	hs_error_destroy(error);
	return error ? NULL : text;
}

uint32_t thread_id_inside(pid_t pid, pid_t tid)
{
	HS_CLEANUP_FREE char *text = thread_status(pid, tid);
	const char *line = text ? strstr(text, "\nNSpid:") : NULL;
	const char *end = line ? strchr(line + 1, '\n') : NULL;

	if (!end)
		return 0;
	while (end > line && end[-1] >= '0' && end[-1] <= '9') // the innermost namespace's id is the last
		end--;
	return (uint32_t)strtoul(end, NULL, 10);
}

uint64_t thread_masks_digest(pid_t pid, uint32_t *count_ret)
{
	HS_CLEANUP_FREE char *path = NULL;
	struct hs_error *error = hs_format(&path, "/proc/%d/task", pid);
	DIR *directory = error ? NULL : opendir(path);
	uint64_t digest = 0;

	hs_error_destroy(error);
	*count_ret = 0;
	if (!directory)
		return 0;
	for (struct dirent *entry; (entry = readdir(directory));) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
		HS_CLEANUP_FREE char *text = tid > 0 ? thread_status(pid, tid) : NULL;
		const char *line = text ? strstr(text, "\nSigBlk:") : NULL;
		uint64_t mask;

		if (!line)
			continue;
		(*count_ret)++;
		mask = strtoull(line + strlen("\nSigBlk:"), NULL, 16);
		digest += (mask + 1) * UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)tid;
	}
	closedir(directory);
	return digest;
}
