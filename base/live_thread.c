// SPDX-License-Identifier: Apache-2.0
#include "live_thread.h"

#include "cleanup.h"
#include "io.h"
#include "proc_stat.h"

#include <dirent.h>
#include <stdlib.h>

static bool lives(const char *path)
{
	HS_CLEANUP_FREE char *text = NULL;
	struct hs_error *error;
	size_t size;

	error = hs_read_file(path, 4096, &text, &size);
	if (error) {
		hs_error_destroy(error);
		return false;
	}
	return proc_stat_lives(text);
}

pid_t hs_live_thread(pid_t pid)
{
	pid_t found = pid;
	DIR *directory;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (lives(path))
		return pid;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	directory = opendir(path);
	for (struct dirent *entry; found == pid && directory && (entry = readdir(directory));) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		snprintf(path, sizeof(path), "/proc/%d/stat", (int)tid);
		if (tid > 0 && tid != pid && lives(path))
			found = tid;
	}
	if (directory)
		closedir(directory);
	return found;
}
