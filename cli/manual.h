// SPDX-License-Identifier: Apache-2.0
// The manual pages, in mdoc(7): heads, synopses and lists of options are of the table, prose is of docs/man/*.in. There
// a line @OPTIONS@, @COMMANDS@ or @PAGES@ stands for such a list; options.in says at length, behind a line "@option
// NAME", what each option does; @LIMIT_DEPTH@ there is the limit of that name (option_table.h).
#ifndef HEAPSNAP_CLI_MANUAL_H
#define HEAPSNAP_CLI_MANUAL_H

#include "cli/option_table.h"

// FOLDER/man/heapsnap-NAME.1, or heapsnap.1 (COMMAND_NONE). An option without prose ends the generator.
void manual_generate(const char *prose, const char *folder, enum command command);

#endif
