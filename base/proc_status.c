// SPDX-License-Identifier: Apache-2.0
#include "base/proc_status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *proc_status_field(const char *status, const char *key)
{
	const size_t length = strlen(key);

	for (const char *line = status; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
		if (strncmp(line, key, length) == 0)
			return line + length + strspn(line + length, " \t");
	return NULL;
}

uint64_t proc_status_number(const char *status, const char *key, int base, uint64_t fallback)
{
	const char *value = proc_status_field(status, key);

	return value ? strtoull(value, NULL, base) : fallback;
}

bool proc_status_has_signal(const char *status, const char *key, int signal)
{
	return proc_status_number(status, key, 16, 0) >> (signal - 1) & 1;
}

char proc_status_state(const char *status)
{
	const char *value = proc_status_field(status, "State:");

	return value && *value && *value != '\n' ? *value : '?';
}

bool proc_status_ids(const char *status, const char *key, unsigned ret[3])
{
	const char *value = proc_status_field(status, key);

	return value && sscanf(value, "%u %u %u", &ret[0], &ret[1], &ret[2]) == 3;
}

static pid_t last_id(const char *status, const char *key)
{
	const char *value = proc_status_field(status, key);
	const char *end = value ? value + strcspn(value, "\n") : NULL;

	if (!value)
		return 0;
	while (end > value && end[-1] >= '0' && end[-1] <= '9') // the last one
		end--;
	return (pid_t)strtol(end, NULL, 10);
}

pid_t proc_status_innermost_id(const char *status) { return last_id(status, "NSpid:"); }

pid_t proc_status_innermost_process(const char *status) { return last_id(status, "NStgid:"); }

// "Max address space         unlimited            unlimited            bytes"
uint64_t proc_limits_soft(const char *limits, const char *name)
{
	const char *line = strstr(limits, name);

	if (!line)
		return UINT64_MAX;
	line += strlen(name);
	line += strspn(line, " ");
	return *line >= '0' && *line <= '9' ? strtoull(line, NULL, 10) : UINT64_MAX;
}
