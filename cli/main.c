// SPDX-License-Identifier: Apache-2.0
#include "attach/interrupt.h"
#include "cli/commands.h"
#include "cli/console.h"

#include <signal.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	struct options options;

	signal(SIGPIPE, SIG_IGN); // a reader that goes away is an error like any other
	if (!options_parse(argc, argv, &options))
		return EXIT_USAGE;
	if (options.help) {
		options_print_help(options.command);
		return fflush(stdout) == 0 ? EXIT_DONE : EXIT_REFUSED;
	}
	if (options.version) {
		printf("heapsnap %s\n", HEAPSNAP_VERSION);
		return fflush(stdout) == 0 ? EXIT_DONE : EXIT_REFUSED;
	}
	console_init(&options);
	interrupt_install();
	switch (options.command) {
	case COMMAND_ATTACH:
		return (int)command_attach(&options);
	case COMMAND_DUMP:
		return (int)command_dump(&options);
	case COMMAND_DETACH:
		return (int)command_detach(&options);
	case COMMAND_STATUS:
		return (int)command_status(&options);
	case COMMAND_NONE:
		break;
	}
	return EXIT_USAGE;
}
