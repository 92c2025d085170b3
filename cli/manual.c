// SPDX-License-Identifier: Apache-2.0
#include "cli/manual.h"

#include "cli/generate.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// Of the text, not of the build: pages are the same byte for byte.
#define PAGE_DATE "November 25, 2026"

enum { LINE_SIZE = 1000 };

// The value as mdoc has it: NAME=KIND are two arguments.
static void put_value(FILE *page, const char *value)
{
	const char *equals = strchr(value, '=');

	if (equals)
		fprintf(page, " Ar %.*s Ns = Ns Ar %s", (int)(equals - value), value, equals + 1);
	else
		fprintf(page, " Ar %s", value);
}

static void put_option(FILE *page, const char *macro, const struct option_description *option)
{
	fputs(macro, page);
	if (option_has_letter(option))
		fprintf(page, " Fl %c , Fl Fl %s", (int)option->id, option->name);
	else
		fprintf(page, " Fl Fl %s", option->name);
	if (option->value)
		put_value(page, option->value);
	fputc('\n', page);
}

// A line of prose, with the limits of options in the places of their names.
static void put_line(FILE *page, const char *line)
{
	static const struct {
		const char *name, *text;
	} limits[] = {
		{ "@LIMIT_DEPTH@", LIMIT_DEPTH },
		{ "@LIMIT_MEMORY_LEAST@", LIMIT_MEMORY_LEAST },
		{ "@LIMIT_MEMORY_MOST@", LIMIT_MEMORY_MOST },
		{ "@LIMIT_INTERVAL@", LIMIT_INTERVAL },
		{ "@LIMIT_ROWS@", LIMIT_ROWS },
	};

	while (*line) {
		size_t i = 0;

		while (i < sizeof(limits) / sizeof(limits[0]) &&
		       strncmp(line, limits[i].name, strlen(limits[i].name)) != 0)
			i++;
		if (i < sizeof(limits) / sizeof(limits[0])) {
			fputs(limits[i].text, page);
			line += strlen(limits[i].name);
		} else {
			fputc(*line++, page);
		}
	}
}

static void put_prose(FILE *page, const char *prose, const char *option)
{
	FILE *file = generate_open(prose, "options.in", "r");
	char line[LINE_SIZE], wanted[100];
	bool is_in = false, is_found = false;

	snprintf(wanted, sizeof(wanted), "@option %s\n", option);
	while (fgets(line, sizeof(line), file)) {
		if (strncmp(line, "@option ", 8) == 0) {
			is_in = strcmp(line, wanted) == 0;
			is_found |= is_in;
		} else if (is_in) {
			put_line(page, line);
		}
	}
	fclose(file);
	if (!is_found) {
		fprintf(stderr, "generate: options.in does not say what --%s does\n", option);
		exit(1);
	}
}

static void put_options(FILE *page, const char *prose, enum command command)
{
	const unsigned common = FOR_ALL & ~FOR(NONE);

	fputs(".Bl -tag -width indent\n", page);
	for (size_t i = 0; i < option_count; i++) {
		const struct option_description *option = &option_table[i];

		if (!option_is_for(option, command) &&
		    !(command == COMMAND_NONE && (option->commands == common || option->commands == FOR_RESULTS)))
			continue;
		put_option(page, ".It", option);
		put_prose(page, prose, option->name);
	}
	fputs(".El\n", page);
}

static void put_commands(FILE *page)
{
	fputs(".Bl -tag -width indent\n", page);
	for (size_t i = 0; i < command_count; i++)
		fprintf(page, ".It Xr heapsnap-%s 1\n%s.\n", command_table[i].name, command_table[i].summary);
	fputs(".El\n", page);
}

// By the alphabet, as mdoc(7) wants it.
static void put_pages(FILE *page)
{
	const char *last = "";

	for (size_t n = 0; n < command_count; n++) {
		const char *next = NULL;

		for (size_t i = 0; i < command_count; i++)
			if (strcmp(command_table[i].name, last) > 0 &&
			    (!next || strcmp(command_table[i].name, next) < 0))
				next = command_table[i].name;
		if (!next)
			return;
		fprintf(page, ".Xr heapsnap-%s 1 ,\n", next);
		last = next;
	}
}

// Words of the operands, each of which is an argument, "PID..." one that may be repeated; "[PID...]" may be left out,
// and "[-o FILE]" is an option.
static void put_operands(FILE *page, const char *operands)
{
	if (strcmp(operands, "[PID...]") == 0) {
		fputs(".Op Ar PID ...\n", page);
		return;
	}
	if (strncmp(operands, "-- ", 3) == 0) {
		fputs(".Op Ar OPTION ...\n.Fl Fl\n", page);
		operands += 3;
	}
	while (*operands && *operands != '[' && *operands != '-') {
		const int length = (int)strcspn(operands, " .|"), dots = (int)strspn(operands + length, ".");

		fprintf(page, ".Ar %.*s%s\n", length, operands, dots ? " ..." : operands[length] == '|' ? " |" : "");
		operands += length + dots;
		operands += *operands == ' ' || *operands == '|';
	}
	if (strstr(operands, "--for"))
		fputs(*operands == '[' ? ".Op Fl Fl for Ar TIME\n" : ".Fl Fl for Ar TIME\n", page);
	if (strstr(operands, "[-o"))
		fputs(".Op Fl o Ar FILE\n", page);
}

static void put_synopsis(FILE *page, const struct command_description *description)
{
	fprintf(page, ".Sh SYNOPSIS\n.Nm heapsnap\n.Cm %s\n", description->name);
	put_operands(page, description->operands);
	for (size_t i = 0; i < option_count; i++) {
		const struct option_description *option = &option_table[i];

		if (!option_is_for(option, description->command) || option->id == OPTION_HELP ||
		    option_is_operand(option, description))
			continue;
		fprintf(page, ".Op Fl %s%s", option_has_letter(option) ? "" : "Fl ",
			option_has_letter(option) ? (const char[]){ (char)option->id, 0 } : option->name);
		if (option->value)
			put_value(page, option->value);
		fputc('\n', page);
	}
}

static void put_head(FILE *page, const struct command_description *description)
{
	char title[32] = "";

	for (size_t i = 0; description && description->name[i] && i + 1 < sizeof(title); i++)
		title[i] = (char)(description->name[i] - 'a' + 'A');
	fprintf(page,
		".\\\" Made of docs/man and cli/option_table.c.\n.Dd " PAGE_DATE
		"\n.Dt HEAPSNAP%s%s 1\n.Os heapsnap " HEAPSNAP_VERSION "\n.Sh NAME\n",
		description ? "-" : "", title);
	if (description) {
		fprintf(page, ".Nm heapsnap-%s\n.Nd %s\n", description->name, description->summary);
		put_synopsis(page, description);
		return;
	}
	fputs(".Nm heapsnap\n.Nd which call stacks hold the memory of a running process\n"
	      ".Sh SYNOPSIS\n.Nm\n.Ar COMMAND\n.Op Ar PID ...\n.Op Ar OPTION ...\n"
	      ".Nm\n.Fl Fl help | Fl Fl version\n.Nm\n.Ar COMMAND\n.Fl Fl help\n.Nm\n.Cm help\n.Op Ar COMMAND\n",
	      page);
}

void manual_generate(const char *prose, const char *folder, enum command command)
{
	const struct command_description *description = command_describe(command);
	char name[100], line[LINE_SIZE];
	FILE *text, *page;

	snprintf(name, sizeof(name), "heapsnap%s%s.in", description ? "-" : "", description ? description->name : "");
	text = generate_open(prose, name, "r");
	snprintf(name, sizeof(name), "man/heapsnap%s%s.1", description ? "-" : "",
		 description ? description->name : "");
	page = generate_open(folder, name, "w");
	for (unsigned number = 0; fgets(line, sizeof(line), text); number++) {
		if (strcmp(line, "@OPTIONS@\n") == 0)
			put_options(page, prose, command);
		else if (strcmp(line, "@COMMANDS@\n") == 0)
			put_commands(page);
		else if (strcmp(line, "@PAGES@\n") == 0)
			put_pages(page);
		else
			fputs(line, page);
		if (number == 0) // behind the licence
			put_head(page, description);
	}
	fclose(text);
	generate_close(page);
}
