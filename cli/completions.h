// SPDX-License-Identifier: Apache-2.0
// Completions for bash, zsh and fish, of the table of options alone.
#ifndef HEAPSNAP_CLI_COMPLETIONS_H
#define HEAPSNAP_CLI_COMPLETIONS_H

#include "cli/option_table.h"

// FOLDER/completions/heapsnap.bash, _heapsnap, heapsnap.fish.
void completions_generate(const char *folder);

#endif
