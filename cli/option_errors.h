// SPDX-License-Identifier: Apache-2.0
// What is said of a command line that cannot be understood, with what was perhaps meant.
#ifndef HEAPSNAP_CLI_OPTION_ERRORS_H
#define HEAPSNAP_CLI_OPTION_ERRORS_H

#include "cli/options.h"

#include <stdbool.h>

// Each prints one line on standard error and one that says how to ask for help, with --json an object on standard
// output, too, and returns false.
//
// `format` has one %s for `what`, which who runs the tool may have from somebody else.
bool options_refuse(const struct options *options, const char *format, const char *what);
bool unknown_command(const struct options *options, const char *name);
// What getopt_long has returned, ':' or no option of the table, right after that.
bool unknown_option(const struct options *options, int option, char **argv);
// One that is for other commands: which ones, or what does the same.
bool option_of_others(const struct options *options, const struct option_description *option);

#endif
