// SPDX-License-Identifier: Apache-2.0
// The texts of --help, from the table of options.
#ifndef HEAPSNAP_CLI_HELP_H
#define HEAPSNAP_CLI_HELP_H

#include "cli/option_table.h"

#include <stdio.h>

enum { HELP_WIDTH = 80 }; // columns, at most

// Help of one command, or of all (COMMAND_NONE).
void help_print(FILE *file, enum command command);

// "usage: heapsnap attach PID [OPTION...]", without a newline.
void help_print_usage(FILE *file, enum command command);

#endif
