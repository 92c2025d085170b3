// SPDX-License-Identifier: Apache-2.0
// Files of the generator. What fails ends it with a message.
#ifndef HEAPSNAP_CLI_GENERATE_H
#define HEAPSNAP_CLI_GENERATE_H

#include <stdio.h>

// FOLDER/NAME. The caller closes it: generate_close where it was written.
FILE *generate_open(const char *folder, const char *name, const char *mode);
void generate_close(FILE *file);

#endif
