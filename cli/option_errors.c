// SPDX-License-Identifier: Apache-2.0
#include "cli/option_errors.h"

#include "base/printable.h"
#include "cli/console.h"
#include "cli/similar_word.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COMMANDS_MAX = 32 };

bool options_refuse(const struct options *options, const char *format, const char *what)
{
	const struct command_description *description = command_describe(options->command);
	char *printable = hs_printable(what), *message = NULL;

	if (asprintf(&message, format, printable ? printable : "?") < 0)
		message = NULL;
	console_complain("%s\n", message ? message : "out of memory for a message");
	fprintf(stderr, "(`heapsnap %s%s--help` says more)\n", description ? description->name : "",
		description ? " " : "");
	if (options->wants_json)
		console_put_error("usage", message ? message : "out of memory");
	free(message);
	free(printable);
	return false;
}

bool unknown_command(const struct options *options, const char *name)
{
	const char *known[COMMANDS_MAX + 1], *similar;
	char format[100] = "unknown command '%s'";
	size_t count = 0;

	for (; count < command_count && count < COMMANDS_MAX; count++)
		known[count] = command_table[count].name;
	known[count++] = "help";
	similar = similar_word(name, known, count);
	if (similar)
		snprintf(format, sizeof(format), "unknown command '%%s'; did you mean '%s'?", similar);
	return options_refuse(options, format, name);
}

// The options that a command knows; of no command, or of one that is still to come, all.
static size_t known_options(enum command command, const char *known[OPTIONS_MAX])
{
	size_t count = 0;

	for (size_t i = 0; i < option_count && count < OPTIONS_MAX; i++)
		if (command == COMMAND_NONE ? option_is_first(i) : option_is_for(&option_table[i], command))
			known[count++] = option_table[i].name;
	return count;
}

// Of a word that begins with two dashes. getopt takes a beginning for the whole where only one option has it.
static bool unknown_long_option(const struct options *options, const char *word)
{
	const char *known[OPTIONS_MAX], *similar = NULL;
	const size_t size = strcspn(word + 2, "="), count = known_options(options->command, known);
	char name[32], format[300] = "unknown option: %s";
	size_t beginnings = 0, length = 0;

	snprintf(name, sizeof(name), "%.*s", (int)(size < sizeof(name) ? size : sizeof(name)), word + 2);
	for (size_t i = 0; i < count && *name && length < sizeof(format) - 40; i++) {
		if (strncmp(known[i], name, strlen(name)) != 0)
			continue;
		length += (size_t)snprintf(format + length, sizeof(format) - length, "%s--%s",
					   beginnings ? ", " : "%s may be ", known[i]);
		beginnings++;
	}
	if (beginnings < 2) {
		similar = *name ? similar_word(name, known, count) : NULL;
		snprintf(format, sizeof(format), "unknown option: %%s%s%s%s", similar ? "; did you mean --" : "",
			 similar ? similar : "", similar ? "?" : "");
	}
	return options_refuse(options, format, word);
}

// Of a letter in `word`, which may be an option's name with one dash too few.
static bool unknown_letter(const struct options *options, char letter, const char *word)
{
	char format[100] = "unknown option: %s";

	for (size_t i = 0; i < option_count && word; i++)
		if (word[0] == '-' && strcmp(word + 1, option_table[i].name) == 0)
			snprintf(format, sizeof(format), "unknown option: %%s; did you mean --%s?",
				 option_table[i].name);
	return options_refuse(options, format, (const char[]){ '-', letter, '\0' });
}

bool unknown_option(const struct options *options, int option, char **argv)
{
	const char *word = argv[optind - 1];
	const struct option_description *known = option_describe(optopt);

	if (option == ':')
		return options_refuse(options, "%s needs a value", word);
	// An unknown letter; getopt may not be past its word yet. A known one stands for --quiet=value.
	if (optopt > 0 && optopt < 128 && !known)
		return unknown_letter(options, (char)optopt,
				      argv[optind] && strchr(argv[optind], optopt) ? argv[optind] : word);
	return known ? options_refuse(options, "%s: this option takes no value", word)
		     : unknown_long_option(options, word);
}

// "check", "attach and set", "a, b and c": those that know an option.
static void name_commands(const struct option_description *option, char *text, size_t size)
{
	size_t left = 0, length = 0;

	for (size_t i = 0; i < command_count; i++)
		left += (size_t)option_any_is_for((int)option->id, command_table[i].command);
	text[0] = 0;
	for (size_t i = 0; i < command_count && length < size; i++) {
		if (!option_any_is_for((int)option->id, command_table[i].command))
			continue;
		length += (size_t)snprintf(text + length, size - length, "%s%s", command_table[i].name,
					   left > 2    ? ", "
					   : left == 2 ? " and "
						       : "");
		left--;
	}
}

bool option_of_others(const struct options *options, const struct option_description *option)
{
	char names[100], text[200];

	if (option->id == OPTION_JSON && options->command == COMMAND_RUN)
		return options_refuse(
			options, "%s",
			"standard output is the command's, and has no room for --json; --at-exit FILE.json "
			"writes what is live at its end as JSON");
	name_commands(option, names, sizeof(names));
	if (option_has_letter(option))
		snprintf(text, sizeof(text), "-%c is only valid with %s", (int)option->id, names);
	else
		snprintf(text, sizeof(text), "--%s is only valid with %s", option->name, names);
	return options_refuse(options, "%s", text);
}
