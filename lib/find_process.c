// SPDX-License-Identifier: Apache-2.0
#include "lib/find_process.h"

#include "attach/process/target.h"
#include "base/cleanup.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMED_MAX = 8, COMM_LENGTH = 15 }; // the kernel cuts names of programs to so many bytes

static bool has_name(pid_t pid, const char *name)
{
	HS_CLEANUP_PROCESS struct process process = PROCESS_CLOSED;
	HS_CLEANUP_FREE char *text = NULL;
	struct hs_error *error = process_glance(pid, &process);
	bool is_named;

	if (!error)
		error = process_read_file(&process, "comm", &text, NULL);
	is_named = !error && strcspn(text, "\n") == strnlen(name, COMM_LENGTH) &&
		   strncmp(text, name, strnlen(name, COMM_LENGTH)) == 0;
	hs_error_destroy(error);
	return is_named;
}

// "1, 23, 456"; of more than fit "..." at the end. "" where there is none.
static void list_named(const char *name, char *text, size_t size)
{
	DIR *directory = *name ? opendir("/proc") : NULL;
	size_t length = 0;
	int count = 0;

	text[0] = 0;
	if (!directory)
		return;
	for (struct dirent *entry; (entry = readdir(directory)) && count <= NAMED_MAX;) {
		char *end;
		long pid = strtol(entry->d_name, &end, 10);

		if (*end || pid <= 0 || !has_name((pid_t)pid, name))
			continue;
		if (count == NAMED_MAX)
			length += (size_t)snprintf(text + length, size - length, ", ...");
		else
			length += (size_t)snprintf(text + length, size - length, "%s%ld", count ? ", " : "", pid);
		count++;
	}
	closedir(directory);
}

struct hs_error *hs_find_process(const char *text, struct process *ret)
{
	char named[200];
	pid_t pid;
	struct hs_error *error = target_parse_pid(text, &pid);

	*ret = PROCESS_CLOSED;
	if (!error) {
		error = process_open(pid, ret);
		ret->pid = pid;
		if (!error || (error->code != HS_ERROR_REFUSED && error->code != HS_ERROR_GONE))
			return error;
		hs_error_destroy(error);
		return NULL;
	}
	list_named(text, named, sizeof(named));
	if (!named[0])
		return error;
	hs_error_destroy(error);
	return hs_error_create(HS_ERROR_REFUSED, "no process with PID '%s'; running processes of that name: %s", text,
			       named);
}
