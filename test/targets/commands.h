// SPDX-License-Identifier: Apache-2.0
// How most of the programs are spoken to: they print "ready", then each line of input is a command, which is answered
// by lines of output. The streams have buffers of their own, so that stdio allocates nothing.
#ifndef TARGETS_COMMANDS_H
#define TARGETS_COMMANDS_H

#include <stdio.h>
#include <string.h>

// pre: nothing was printed or read yet.
static inline void say_ready(void)
{
	static char output_buffer[4096], input_buffer[256];

	setvbuf(stdout, output_buffer, _IOLBF, sizeof(output_buffer));
	setvbuf(stdin, input_buffer, _IOFBF, sizeof(input_buffer));
	puts("ready");
}

// The next command without its newline, valid until the next call; NULL at end of input.
static inline const char *next_command(void)
{
	static char line[64];

	if (!fgets(line, sizeof(line), stdin))
		return NULL;
	line[strcspn(line, "\n")] = 0;
	return line;
}

#endif
