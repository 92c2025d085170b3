// SPDX-License-Identifier: Apache-2.0
#include "lib/find_process.h"

#include "base/cleanup.h"

#include <errno.h>
#include <limits.h>
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
	struct process_walk walk;
	size_t length = 0;
	int count = 0;

	text[0] = 0;
	if (!*name || !process_walk_begin(&walk))
		return;
	for (pid_t pid; count <= NAMED_MAX && (pid = process_walk_next(&walk));) {
		if (!has_name(pid, name))
			continue;
		if (count == NAMED_MAX)
			length += (size_t)snprintf(text + length, size - length, ", ...");
		else
			length += (size_t)snprintf(text + length, size - length, "%s%d", count ? ", " : "", (int)pid);
		count++;
	}
	process_walk_end(&walk);
}

static bool parse_pid(const char *text, pid_t *ret)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 10);
	*ret = (pid_t)value;
	return text[0] >= '0' && text[0] <= '9' && *end == 0 && errno == 0 && value > 0 && value <= INT_MAX;
}

bool hs_pid_is_number(const char *text)
{
	pid_t pid;

	return parse_pid(text, &pid);
}

static struct hs_error *no_number(const char *text)
{
	char named[200];

	list_named(text, named, sizeof(named));
	if (!named[0])
		return hs_error_create(HS_ERROR_NOT_FOUND,
				       "no process with PID '%s': a PID is a positive decimal number", text);
	return hs_error_create(HS_ERROR_NOT_FOUND,
			       "no process with PID '%s'; running processes of that name: %s. Use --name '%s'", text,
			       named, text);
}

struct hs_error *hs_find_process(const char *text, struct process *ret)
{
	struct hs_error *error;
	pid_t pid;

	*ret = PROCESS_CLOSED;
	if (!parse_pid(text, &pid))
		return no_number(text);
	error = process_open(pid, ret);
	ret->pid = pid;
	if (!error || (error->code != HS_ERROR_REFUSED && error->code != HS_ERROR_GONE))
		return error;
	hs_error_destroy(error);
	return NULL;
}
