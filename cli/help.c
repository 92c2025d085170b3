// SPDX-License-Identifier: Apache-2.0
#include "cli/help.h"

#include <string.h>

enum { TEXT_COLUMN = 21 };

// Writes a word, on a new line where it does not fit. Returns the column behind it.
static size_t put_word(FILE *file, const char *word, size_t length, size_t column, size_t indent)
{
	if (column > indent && column + 1 + length > HELP_WIDTH) {
		fprintf(file, "\n%*s", (int)indent, "");
		column = indent;
	} else if (column > indent) {
		fputc(' ', file);
		column++;
	}
	fwrite(word, 1, length, file);
	return column + length;
}

// Words of a text, from column `indent` on, where the line stands already.
static void put_text(FILE *file, const char *text, size_t indent)
{
	size_t column = indent;

	while (*text) {
		size_t length = strcspn(text, " ");

		column = put_word(file, text, length, column, indent);
		text += length + (text[length] == ' ');
	}
	fputc('\n', file);
}

static void put_option(FILE *file, const struct option_description *option)
{
	char left[64];
	int size = snprintf(left, sizeof(left), option_has_letter(option) ? "  -%c, --%s%s%s" : "  ", (int)option->id,
			    option->name, option->value ? " " : "", option->value ? option->value : "");

	if (!option_has_letter(option))
		size = snprintf(left, sizeof(left), "  --%s%s%s", option->name, option->value ? " " : "",
				option->value ? option->value : "");
	if (size < TEXT_COLUMN)
		fprintf(file, "%-*s", (int)TEXT_COLUMN, left);
	else
		fprintf(file, "%s\n%*s", left, (int)TEXT_COLUMN, "");
	put_text(file, option->help, TEXT_COLUMN);
}

// Of a command its own options stand first, as the table has them.
static void put_options(FILE *file, enum command command)
{
	for (size_t i = 0; i < option_count; i++)
		if (option_is_for(&option_table[i], command))
			put_option(file, &option_table[i]);
}

static size_t put_usage_option(FILE *file, const struct option_description *option, size_t column, size_t indent)
{
	char text[64];
	int size;

	if (option_has_letter(option))
		size = snprintf(text, sizeof(text), "[-%c%s%s]", (int)option->id, option->value ? " " : "",
				option->value ? option->value : "");
	else
		size = snprintf(text, sizeof(text), "[--%s%s%s]", option->name, option->value ? " " : "",
				option->value ? option->value : "");
	return put_word(file, text, (size_t)size, column, indent);
}

void help_print_usage(FILE *file, enum command command)
{
	const struct command_description *description = command_describe(command);
	int indent;
	size_t column;

	if (!description) {
		fputs("usage: heapsnap ", file);
		for (size_t i = 0; i < command_count; i++)
			fprintf(file, "%s%s", i ? "|" : "", command_table[i].name);
		fputs(" [PID...] [OPTION...]", file);
		return;
	}
	indent = fprintf(file, "usage: heapsnap %s", description->name);
	column = (size_t)indent + 1;
	if (command_takes_command(description)) // whose options come before it
		fputc(' ', file);
	else
		column = put_word(file, description->operands, strlen(description->operands), column, (size_t)indent);
	for (size_t i = 0; i < option_count; i++)
		if (option_is_for(&option_table[i], command) && option_table[i].id != OPTION_HELP &&
		    !option_is_operand(&option_table[i], description))
			column = put_usage_option(file, &option_table[i], column, (size_t)indent + 1);
	if (command_takes_command(description))
		put_word(file, description->operands, strlen(description->operands), column, (size_t)indent + 1);
}

static void print_command(FILE *file, const struct command_description *description)
{
	help_print_usage(file, description->command);
	fputs("\n\n", file);
	put_text(file, description->summary, 0);
	fputc('\n', file);
	put_text(file, description->text, 0);
	fputc('\n', file);
	put_options(file, description->command);
}

void help_print(FILE *file, enum command command)
{
	const struct command_description *description = command_describe(command);

	if (description) {
		print_command(file, description);
		return;
	}
	fputs("heapsnap: which call stacks hold the memory of a running process\n\n"
	      "usage: heapsnap COMMAND [PID...] [OPTION...]\n\ncommands:\n",
	      file);
	for (size_t i = 0; i < command_count; i++) {
		fprintf(file, "  %-6s %-16s ", command_table[i].name, command_table[i].operands);
		put_text(file, command_table[i].summary, 26);
	}
	fputs("\noptions without a command:\n", file);
	put_options(file, COMMAND_NONE);
	fputs("\nExit status: 0 done, 1 refused or failed (the process is untouched or restored),\n"
	      "2 wrong usage. `heapsnap help COMMAND` says more; so does the manual page\n"
	      "heapsnap-COMMAND(1).\n",
	      file);
}
