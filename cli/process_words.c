// SPDX-License-Identifier: Apache-2.0
#include "cli/process_words.h"

#include "cli/option_errors.h"

#include <string.h>

static bool take_once(struct options *options, const char **ret, const char *name, const char *text)
{
	if (*ret)
		return options_refuse(options, "%s can be given once", name);
	*ret = text;
	return true;
}

bool process_words_take_name(struct options *options, const char *text)
{
	return take_once(options, &options->filter.name, "--name", text);
}

bool process_words_take_cgroup(struct options *options, const char *text)
{
	return take_once(options, &options->filter.cgroup, "--cgroup", text);
}

bool process_words_take_container(struct options *options, const char *text)
{
	return take_once(options, &options->filter.container, "--container", text);
}

bool process_words_take_user(struct options *options, const char *text)
{
	return take_once(options, &options->filter.user, "--user", text);
}

// Numbers, or what the processes are; not both, which could mean either that all holds or that some does.
bool process_words_take(struct options *options, int count, char **operands)
{
	const bool is_filtered = hs_process_filter_is_given(&options->filter);
	struct hs_error *error = hs_process_filter_check(&options->filter);

	if (error) {
		options_refuse(options, "%s", error->message);
		hs_error_destroy(error);
		return false;
	}
	if (count > 1 && !strstr(command_describe(options->command)->operands, "..."))
		return options_refuse(options, "too many arguments: %s", operands[1]);
	if (count > 0 && is_filtered)
		return options_refuse(options, "PID %s and --name, --cgroup, --container, --user cannot be combined",
				      operands[0]);
	if (options->all && count > 0)
		return options_refuse(options, "PID %s and --all cannot be combined: give the one or the other",
				      operands[0]);
	if (options->all && !is_filtered && options->command != COMMAND_DETACH)
		return options_refuse(options, "%s", "--all needs --name, --cgroup, --container or --user");
	if (count == 0 && !is_filtered && !options->all && options->command != COMMAND_STATUS)
		return options_refuse(options, "%s", "the PID is missing, or --name, --cgroup, --container or --user");
	options->pids = (const char *const *)operands;
	options->pid_count = (size_t)count;
	return true;
}
