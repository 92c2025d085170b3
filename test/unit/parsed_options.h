// SPDX-License-Identifier: Apache-2.0
// Command lines that are understood, and such as are refused.
#ifndef HEAPSNAP_TEST_UNIT_PARSED_OPTIONS_H
#define HEAPSNAP_TEST_UNIT_PARSED_OPTIONS_H

#include "check.h"
#include "cli/options.h"

#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char complaint[2000]; // what the last parse said on standard error

// Parses a command line of words between single blanks; '' is an empty word.
static inline bool parse(const char *line, struct options *ret)
{
	static char words[1000]; // the options point into it
	static char *argv[32];
	int argc = 0, saved = dup(STDERR_FILENO), pipe_fds[2];
	ssize_t got;
	bool good;

	snprintf(words, sizeof(words), "heapsnap %s", line);
	for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
		argv[argc++] = strcmp(word, "''") == 0 ? word + 2 : word;
	argv[argc] = NULL;
	optind = 0; // getopt keeps its place inside a word, here of the parse before; 0 makes it begin anew
	getopt(1, argv, "");
	fflush(stderr);
	if (pipe2(pipe_fds, O_CLOEXEC) != 0 || dup2(pipe_fds[1], STDERR_FILENO) < 0)
		exit(1);
	good = options_parse(argc, argv, ret);
	fflush(stderr);
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(pipe_fds[1]);
	got = read(pipe_fds[0], complaint, sizeof(complaint) - 1);
	complaint[got > 0 ? got : 0] = '\0';
	close(pipe_fds[0]);
	return good;
}

static inline struct options good(const char *line)
{
	struct options options;

	if (!parse(line, &options)) {
		fprintf(stderr, "refused: %s\n%s", line, complaint);
		check_failures++;
		return (struct options){ .output = "" };
	}
	CHECK_STRING(complaint, "");
	return options;
}

// Refused, with one line that holds `text`, and one that says how to ask for help: usage is printed only on request.
static inline void bad(const char *line, const char *text)
{
	struct options options;
	const char *end;

	check_count++;
	if (parse(line, &options)) {
		fprintf(stderr, "not refused: %s\n", line);
		check_failures++;
		return;
	}
	end = strchr(complaint, '\n');
	if (!strstr(complaint, text) || strncmp(complaint, "heapsnap: ", 10) != 0 || !end ||
	    strncmp(end + 1, "(`heapsnap ", 11) != 0 || strstr(complaint, "usage") || strchr(end + 1, '\n')[1]) {
		fprintf(stderr, "\"%s\" is refused, but without \"%s\":\n%s", line, text, complaint);
		check_failures++;
	}
}

#endif
