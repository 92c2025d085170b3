// SPDX-License-Identifier: Apache-2.0
#include "cli/run_words.h"

#include "cli/option_errors.h"
#include "cli/option_values.h"

#include <string.h>

static bool is_stream(const char *path) { return path && strcmp(path, "-") == 0; }

bool run_words_take_at_exit(struct options *options, const char *text)
{
	options->at_exit = parse_output_name(text);
	return *text || options_refuse(options, "%s", "the output file's name is empty");
}

bool run_words_take_at_peak(struct options *options, const char *text)
{
	options->at_peak = parse_output_name(text);
	return *text || options_refuse(options, "%s", "the output file's name is empty");
}

bool run_words_take_every(struct options *options, const char *text)
{
	return parse_duration(text, &options->every_ns) ||
	       options_refuse(options, "--every expects a time, as 60s or 5m, got '%s'", text);
}

bool run_words_take_on(struct options *options, const char *text)
{
	return parse_signal(text, &options->on_signal) ||
	       options_refuse(options, "--on expects a signal, as SIGUSR2, got '%s'", text);
}

void run_words_take_only_profile(struct options *options)
{
	if (options->command != COMMAND_RUN || options->every_ns || options->on_signal || options->at_exit)
		return;
	options->at_exit = options->output;
	options->output = NULL;
}

// Names that are made in a folder differ.
static bool is_other_file(const char *one, const char *other)
{
	return !one || !other || strcmp(one, other) != 0 || one[strlen(one) - 1] == '/';
}

static bool check_peak(const struct options *options)
{
	if (options->children)
		return options_refuse(options, "%s",
				      "--at-peak is of one process: it cannot be combined with --children");
	// -o of run is another one, with a number in its name
	if (!is_other_file(options->at_peak, options->command == COMMAND_RUN ? options->at_exit : options->output))
		return options_refuse(options, "--at-peak needs another file than the other profile: %s",
				      options->at_peak);
	if (options->command != COMMAND_RUN && options->at_peak[strlen(options->at_peak) - 1] == '/')
		return options_refuse(options, "--at-peak DIR/ is only valid with run; add a file name to %s",
				      options->at_peak);
	if (options->blocks.selection.labels & LABEL_DUMP)
		return options_refuse(options, "%s",
				      "--labels dump and --at-peak cannot be combined: each look is such a dump");
	if (is_stream(options->at_peak))
		return options_refuse(options, "%s", "the profile of --at-peak goes to a file");
	return true;
}

bool run_words_check(const struct options *options)
{
	if (options->at_peak && !check_peak(options))
		return false;
	if (options->command != COMMAND_RUN)
		return true;
	if ((options->every_ns || options->on_signal) && !options->output)
		return options_refuse(options, "%s", "--every and --on need -o FILE or -o DIR/, where the profiles go");
	if (options->output && !options->every_ns && !options->on_signal)
		return options_refuse(options, "%s", "-o beside --at-exit needs --every or --on");
	if (is_stream(options->output) || is_stream(options->at_exit))
		return options_refuse(options, "%s", "standard output is the command's: profiles of run go to files");
	return true;
}
