// SPDX-License-Identifier: Apache-2.0
#include "base/inherited_state.h"
#include "base/io.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/help.h"
#include "cli/version.h"
#include "lib/debuginfod.h"
#include "lib/tool.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

// A closed standard stream would give its number to the next file opened, the target's memory or region among them, and
// a message would be written there.
static bool hold_standard_streams(void)
{
	int fd;

	do
		fd = hs_open_nothing(0); // so that writing to it still fails
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

// The kernel asks for the limit each time the stack grows, so that it may be raised now; and beyond its hard end by
// root.
static bool raise_stack_limit(void)
{
	const rlim_t needed = HS_TOOL_STACK;
	struct rlimit stack;

	if (getrlimit(RLIMIT_STACK, &stack) != 0 || stack.rlim_cur >= needed)
		return true;
	stack.rlim_cur = needed;
	stack.rlim_max = stack.rlim_max < needed ? needed : stack.rlim_max;
	return setrlimit(RLIMIT_STACK, &stack) == 0;
}

static enum exit_status run_command(const struct options *options)
{
	switch (options->command) {
	case COMMAND_ATTACH:
		return command_attach(options);
	case COMMAND_CHECK:
		return command_check(options);
	case COMMAND_RUN:
		return command_run(options);
	case COMMAND_SET:
		return command_set(options);
	case COMMAND_DUMP:
		return command_dump(options);
	case COMMAND_DETACH:
		return command_detach(options);
	case COMMAND_STATUS:
		return command_status(options);
	case COMMAND_REPORT:
		return command_report(options);
	case COMMAND_DIFF:
		return command_diff(options);
	case COMMAND_PROFILE:
		return command_profile(options);
	case COMMAND_WHY:
		return command_why(options);
	case COMMAND_TOP:
		return command_top(options);
	case COMMAND_NONE:
		break;
	}
	return EXIT_USAGE;
}

// A command whose result is a text has failed when that cannot be written; one that has changed a process, or written
// a file, has not.
static enum exit_status written(const struct options *options, enum exit_status status)
{
	const enum command command = options->command;
	const bool is_text = command == COMMAND_CHECK || command == COMMAND_STATUS || command == COMMAND_REPORT ||
			     ((command == COMMAND_DUMP || command == COMMAND_DIFF || command == COMMAND_PROFILE ||
			       command == COMMAND_WHY) &&
			      !options->output && !options->page);

	return is_text && !console_is_written() && status == EXIT_DONE ? EXIT_REFUSED : status;
}

static enum exit_status refused(const struct options *options)
{
	return options->command == COMMAND_RUN ? EXIT_NOT_RUN : EXIT_REFUSED;
}

// With a frame of its own, for that of main is needed to say that there is no room for it.
static __attribute__((noinline)) int run(int argc, char **argv, bool has_stack)
{
	struct options options;
	struct hs_error *error;

	signal(SIGPIPE, SIG_IGN); // help that nobody reads to its end is an error like any other
	if (!options_parse(argc, argv, &options))
		return EXIT_USAGE;
	if (options.help) {
		help_print(stdout, options.command);
		return fflush(stdout) == 0 ? EXIT_DONE : EXIT_REFUSED;
	}
	if (options.version) {
		version_print(stdout);
		return fflush(stdout) == 0 ? EXIT_DONE : EXIT_REFUSED;
	}
	if (!has_stack) {
		fprintf(stderr,
			"heapsnap: the limit of its own stack is below %d KiB: raise it (ulimit -s), and try again\n",
			HS_TOOL_STACK >> 10);
		return (int)refused(&options);
	}
	console_init(&options);
	error = hs_tool_begin();
	if (!error && options.wants_debuginfod)
		error = hs_debuginfod_begin(options.debuginfod_ns, &options.debuginfod);
	if (error) {
		(void)console_fail(&options, error);
		return (int)refused(&options);
	}

	const enum exit_status status = written(&options, run_command(&options));

	hs_debuginfod_end(options.debuginfod);
	return (int)status;
}

int main(int argc, char **argv)
{
	inherited_state_note(); // before anything of it is changed
	if (!hold_standard_streams()) {
		fprintf(stderr, "heapsnap: cannot put a pipe in the place of a closed standard stream: %s\n",
			strerror(errno));
		return EXIT_REFUSED;
	}
	return run(argc, argv, raise_stack_limit());
}
