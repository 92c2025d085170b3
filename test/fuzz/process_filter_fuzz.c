// SPDX-License-Identifier: Apache-2.0
// Which processes are meant, by texts in which names are whoever's. Input: a group's path, the id of a container, the
// name of a user, each on a line, then a text of /proc/PID/cgroup, of /proc/PID/cmdline and of /etc/passwd at once.
#include "fuzz.h"

#include "lib/process_filter.h"

#include <stdlib.h>
#include <string.h>

static char *take_line(char **text)
{
	char *line = *text, *end = strchr(line, '\n');

	*text = end ? end + 1 : line + strlen(line);
	if (end)
		*end = 0;
	return line;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *rest = text;
	struct hs_process_filter given = { 0 };
	struct process_filter filter;
	struct hs_error *error;
	uid_t user;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = 0;
	given.cgroup = take_line(&rest);
	given.container = take_line(&rest);
	given.user = take_line(&rest);
	error = process_filter_init(&filter, &given);
	if (!error) {
		REACHED();
		REQUIRE(filter.cgroup[0] == 0 || (filter.cgroup[0] == '/' && !strstr(filter.cgroup, "//") &&
						  filter.cgroup[strlen(filter.cgroup) - 1] != '/'));
		REQUIRE(filter.mounted_size <= strlen(filter.cgroup));
		if (process_filter_has_cgroup(&filter, rest))
			REQUIRE(strstr(rest, filter.cgroup + filter.mounted_size));
		if (process_filter_has_container(&filter, rest))
			REQUIRE(strstr(rest, filter.container));
		if (user_number(given.user, &user) || user_number_of_name(rest, given.user, &user))
			REQUIRE(user != UINT32_MAX);
		process_command_line(rest, strlen(rest));
	}
	hs_error_destroy(error);
	process_filter_deinit(&filter);
	free(text);
	return 0;
}
