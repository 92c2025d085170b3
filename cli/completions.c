// SPDX-License-Identifier: Apache-2.0
#include "cli/completions.h"

#include "cli/generate.h"

#include <stdbool.h>
#include <string.h>

#define LICENCE "# SPDX-License-Identifier: Apache-2.0\n# Made of cli/option_table.c.\n"

static bool takes_file(const struct option_description *option)
{
	return option->value && strcmp(option->value, "FILE") == 0;
}

// A text within single quotes, which each of the three shells takes as it is but for these quotes themselves; with
// `brackets`, zsh's _arguments must not take a bracket for the end of the text.
static void put_text(FILE *file, const char *text, bool brackets)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\'", file);
		else if (brackets && (*text == '[' || *text == ']' || *text == '\\'))
			fputc('\\', file);
		fputc(*text, file);
	}
}

static void bash_words(FILE *file, enum command command)
{
	fprintf(file, "\t%s) words='", command == COMMAND_NONE ? "''" : command_describe(command)->name);
	for (size_t i = 0; i < command_count && command == COMMAND_NONE; i++)
		fprintf(file, "%s ", command_table[i].name);
	if (command == COMMAND_NONE)
		fputs("help ", file);
	for (size_t i = 0; i < option_count; i++) {
		if (!option_is_for(&option_table[i], command))
			continue;
		if (option_has_letter(&option_table[i]))
			fprintf(file, "-%c ", (int)option_table[i].id);
		fprintf(file, "--%s ", option_table[i].name);
	}
	fputs("' ;;\n", file);
}

// "-o|--output" of each that takes a value: of files, or of others, which nobody can guess.
static void bash_values(FILE *file, bool files)
{
	bool is_first = true;

	for (size_t i = 0; i < option_count; i++) {
		const struct option_description *option = &option_table[i];

		if (!option->value || !option_is_first(i) || takes_file(option) != files)
			continue;
		fputs(is_first ? "\t" : "|", file);
		if (option_has_letter(option))
			fprintf(file, "-%c|", (int)option->id);
		fprintf(file, "--%s", option->name);
		is_first = false;
	}
}

// Of commands whose operands are files.
static void bash_files(FILE *file)
{
	fputs("\tcase $command in\n\t", file);
	for (size_t i = 0, count = 0; i < command_count; i++)
		if (command_takes_files(&command_table[i]))
			fprintf(file, "%s%s", count++ ? "|" : "", command_table[i].name);
	fputs(") [[ $current == -* ]] || { compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "
	      "\"$current\"); return; } ;;\n\tesac\n",
	      file);
}

// Of commands whose operands are a command.
static void bash_commands(FILE *file)
{
	for (size_t i = 0; i < command_count; i++)
		if (command_takes_command(&command_table[i]))
			fprintf(file,
				"\tif [[ $command == %s && $current != -* ]]; then\n"
				"\t\tmapfile -t COMPREPLY < <(compgen -c -- \"$current\"); return\n\tfi\n",
				command_table[i].name);
}

static void put_bash(FILE *file)
{
	fputs(LICENCE
	      "_heapsnap()\n{\n"
	      "\tlocal current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command='' word words i\n"
	      "\tCOMPREPLY=()\n"
	      "\t# --output=FILE is three words.\n"
	      "\tif [[ $current == '=' ]]; then\n"
	      "\t\tcurrent=''\n"
	      "\telif [[ $previous == '=' ]]; then\n"
	      "\t\tprevious=${COMP_WORDS[COMP_CWORD-2]}\n"
	      "\tfi\n"
	      "\tcase $previous in\n",
	      file);
	bash_values(file, true);
	// Names are then quoted, and a folder's is not yet the end. Only a completion may say so.
	fputs(") compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- \"$current\"); return ;;\n",
	      file);
	bash_values(file, false);
	fputs(") return ;;\n\tesac\n\tfor ((i = 1; i < COMP_CWORD; i++)); do\n\t\tcase ${COMP_WORDS[i]} in\n\t\t",
	      file);
	for (size_t i = 0; i < command_count; i++)
		fprintf(file, "%s%s", i ? "|" : "", command_table[i].name);
	fputs(") command=${COMP_WORDS[i]}; break ;;\n\t\tesac\n\tdone\n\tcase $command in\n", file);
	bash_words(file, COMMAND_NONE);
	for (size_t i = 0; i < command_count; i++)
		bash_words(file, command_table[i].command);
	fputs("\tesac\n", file);
	bash_files(file);
	bash_commands(file);
	fputs("\tif [[ $command && $current != -* ]]; then\n"
	      "\t\twords=\n"
	      "\t\tfor word in /proc/[0-9]*; do\n"
	      "\t\t\twords+=\" ${word#/proc/}\"\n"
	      "\t\tdone\n"
	      "\tfi\n"
	      "\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
	      "}\n"
	      "complete -F _heapsnap heapsnap\n",
	      file);
}

static bool is_repeated(enum option_id id)
{
	return id == OPTION_ALLOCATOR || id == OPTION_OWN || id == OPTION_LIBRARY || id == OPTION_FOCUS ||
	       id == OPTION_IGNORE;
}

static void zsh_option(FILE *file, const struct option_description *option)
{
	const char *repeated = is_repeated(option->id) ? "*" : "";

	// A value stands in the next word, behind = or, of a letter, right behind it.
	if (option_has_letter(option))
		fprintf(file, "\t\t\t'(-%c --%s)'{-%c%s,--%s%s}'[", (int)option->id, option->name, (int)option->id,
			option->value ? "+" : "", option->name, option->value ? "=" : "");
	else
		fprintf(file, "\t\t\t'%s--%s%s[", repeated, option->name, option->value ? "=" : "");
	put_text(file, option->brief, true);
	fputc(']', file);
	if (option->value)
		fprintf(file, ":%s:%s", option->value, takes_file(option) ? "_files" : " ");
	fputs("' \\\n", file);
}

static void put_zsh(FILE *file)
{
	fputs("#compdef heapsnap\n" LICENCE "_heapsnap()\n{\n\tlocal -a commands=(\n", file);
	for (size_t i = 0; i < command_count; i++) {
		fprintf(file, "\t\t'%s:", command_table[i].name);
		put_text(file, command_table[i].brief, false);
		fputs("'\n", file);
	}
	fputs("\t\t'help:show help of a command'\n\t)\n\tif (( CURRENT == 2 )); then\n\t\t_describe command commands\n\t\t_arguments \\\n",
	      file);
	for (size_t i = 0; i < option_count; i++)
		if (option_is_for(&option_table[i], COMMAND_NONE))
			zsh_option(file, &option_table[i]);
	fputs("\t\t\t&& return\n\t\treturn\n\tfi\n\tlocal command=$words[2]\n\tshift words\n\t(( CURRENT-- ))\n\tcase $command in\n",
	      file);
	for (size_t i = 0; i < command_count; i++) {
		fprintf(file, "\t%s)\n\t\t_arguments \\\n", command_table[i].name);
		for (size_t k = 0; k < option_count; k++)
			if (option_is_for(&option_table[k], command_table[i].command))
				zsh_option(file, &option_table[k]);
		fprintf(file, "\t\t\t%s\n\t\t;;\n",
			command_takes_files(&command_table[i])     ? "'*:profile:_files'"
			: command_takes_command(&command_table[i]) ? "'*::command:_normal'"
								   : "'*:PID:_pids'");
	}
	fputs("\thelp)\n\t\t_describe command commands\n\t\t;;\n\tesac\n}\n_heapsnap \"$@\"\n", file);
}

static void fish_text(FILE *file, const char *brief)
{
	fputs(" -d '", file);
	put_text(file, brief, false);
	fputs("'\n", file);
}

static void fish_option(FILE *file, const struct option_description *option)
{
	for (size_t i = 0; i < command_count; i++) {
		if (!option_is_for(option, command_table[i].command))
			continue;
		fprintf(file, "complete -c heapsnap -n '__fish_seen_subcommand_from %s' -l %s", command_table[i].name,
			option->name);
		if (option_has_letter(option))
			fprintf(file, " -s %c", (int)option->id);
		fputs(!option->value ? "" : takes_file(option) ? " -r -F" : " -x", file);
		fish_text(file, option->brief);
	}
	if (!option_is_for(option, COMMAND_NONE))
		return;
	fprintf(file, "complete -c heapsnap -n __fish_use_subcommand -l %s", option->name);
	if (option_has_letter(option))
		fprintf(file, " -s %c", (int)option->id);
	fish_text(file, option->brief);
}

static void put_fish(FILE *file)
{
	fputs(LICENCE "complete -c heapsnap -f\n", file);
	for (size_t i = 0; i < command_count; i++) {
		fprintf(file, "complete -c heapsnap -n __fish_use_subcommand -a %s", command_table[i].name);
		fish_text(file, command_table[i].brief);
		fprintf(file, "complete -c heapsnap -n '__fish_seen_subcommand_from %s' %s\n", command_table[i].name,
			command_takes_files(&command_table[i])     ? "-F"
			: command_takes_command(&command_table[i]) ? "-a '(__fish_complete_command)'"
								   : "-a '(__fish_complete_pids)'");
	}
	fputs("complete -c heapsnap -n __fish_use_subcommand -a help -d 'show help of a command'\n", file);
	for (size_t i = 0; i < command_count; i++)
		fprintf(file, "complete -c heapsnap -n '__fish_seen_subcommand_from help' -a %s\n",
			command_table[i].name);
	for (size_t i = 0; i < option_count; i++)
		fish_option(file, &option_table[i]);
}

void completions_generate(const char *folder)
{
	FILE *file = generate_open(folder, "completions/heapsnap.bash", "w");

	put_bash(file);
	generate_close(file);
	file = generate_open(folder, "completions/_heapsnap", "w");
	put_zsh(file);
	generate_close(file);
	file = generate_open(folder, "completions/heapsnap.fish", "w");
	put_fish(file);
	generate_close(file);
}
