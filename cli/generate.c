// SPDX-License-Identifier: Apache-2.0
// generate PROSE FOLDER: at build time, makes the manual pages (of PROSE/*.in and the table of options) and the
// completions (of the table alone) in FOLDER/man and FOLDER/completions.
#include "cli/generate.h"
#include "cli/completions.h"
#include "cli/manual.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

FILE *generate_open(const char *folder, const char *name, const char *mode)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, mode);
	if (!file) {
		fprintf(stderr, "generate: %s: %s\n", path, strerror(errno));
		exit(1);
	}
	return file;
}

void generate_close(FILE *file)
{
	if (ferror(file) || fclose(file) != 0) {
		fprintf(stderr, "generate: cannot write: %s\n", strerror(errno));
		exit(1);
	}
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: generate PROSE FOLDER\n");
		return 2;
	}
	for (size_t i = 0; i < command_count; i++)
		manual_generate(argv[1], argv[2], command_table[i].command);
	manual_generate(argv[1], argv[2], COMMAND_NONE);
	completions_generate(argv[2]);
	return 0;
}
