// SPDX-License-Identifier: Apache-2.0
#include "cli/options.h"

#include "cli/option_errors.h"
#include "cli/option_values.h"
#include "cli/process_words.h"
#include "cli/run_words.h"
#include "cli/symbol_words.h"
#include "cli/watch_words.h"
#include "inject/abi/limits.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_DEFAULT = 10 }; // LIMIT_ROWS

// What the texts of the option table say.
_Static_assert(HS_DEPTH_MAX == 256 && HS_DEPTH_DEFAULT == 256, "LIMIT_DEPTH, the most and the default");
_Static_assert(HS_REGION_MEMORY_MIN == 1024 * 1024 && HS_REGION_MEMORY_MAX == 120 * 1024 * HS_REGION_MEMORY_MIN,
	       "LIMIT_MEMORY_*");
_Static_assert(HS_INTERVAL_MAX == 2u << 30, "LIMIT_INTERVAL, and the smallest rate of --samples-per-word");

static bool take_command(struct options *options, const char *name)
{
	for (size_t i = 0; i < command_count; i++)
		if (strcmp(command_table[i].name, name) == 0)
			options->command = command_table[i].command;
	if (strcmp(name, "help") == 0)
		options->help = true;
	return options->command != COMMAND_NONE || options->help ? true : unknown_command(options, name);
}

static bool take_allocator(struct options *options, const char *text)
{
	struct hs_error *error;

	if (options->allocator_count == HS_USER_ALLOCATORS_MAX)
		return options_refuse(options, "%s", "too many --allocator");
	error = hs_user_allocator_check(text);
	if (!error) {
		options->allocators[options->allocator_count++] = text;
		return true;
	}
	options_refuse(options, "%s", error->message);
	hs_error_destroy(error);
	return false;
}

static bool set_sampling(struct options *options, struct hs_sampling sampling)
{
	if (options->has_sampling)
		return options_refuse(
			options, "%s",
			"only one of --sample, --samples-per-word, --exact and --budget can be given, and once");
	options->has_sampling = true;
	options->sampling = sampling;
	return true;
}

static bool take_depth(struct options *options, const char *text)
{
	uint64_t number;

	if (!parse_size(text, &number) || number < 1 || number > HS_DEPTH_MAX)
		return options_refuse(options, "--depth expects a number from 1 to " LIMIT_DEPTH ", got '%s'", text);
	options->depth = (uint32_t)number;
	return true;
}

static bool take_max_memory(struct options *options, const char *text)
{
	uint64_t number;

	if (!parse_size(text, &number) || number < HS_REGION_MEMORY_MIN || number > HS_REGION_MEMORY_MAX)
		return options_refuse(options,
				      "--max-memory expects a size from " LIMIT_MEMORY_LEAST " to " LIMIT_MEMORY_MOST
				      ", got '%s'",
				      text);
	options->max_memory = number;
	return true;
}

static bool take_sample(struct options *options, const char *text)
{
	uint64_t number;

	if (!parse_size(text, &number) || number < 1 || number > HS_INTERVAL_MAX)
		return options_refuse(options,
				      "--sample expects a mean interval from 1 (every allocation) to " LIMIT_INTERVAL
				      " bytes, got '%s'",
				      text);
	return set_sampling(options,
			    (struct hs_sampling){ .mode = number > 1 ? HS_SAMPLING_INTERVAL : HS_SAMPLING_EXACT,
						  .interval = (uint32_t)number });
}

static bool take_samples_per_word(struct options *options, const char *text)
{
	uint32_t interval;

	if (!parse_rate(text, &interval))
		return options_refuse(options, "--samples-per-word expects a number from 3.8e-9 to 4, got '%s'", text);
	return set_sampling(options, (struct hs_sampling){ .mode = HS_SAMPLING_WORDS, .interval = interval });
}

static bool take_budget(struct options *options, const char *text)
{
	uint32_t budget;

	if (!parse_percent(text, &budget))
		return options_refuse(options, "--budget expects a percentage above 0 and up to 100, got '%s'", text);
	return set_sampling(options, (struct hs_sampling){ .mode = HS_SAMPLING_BUDGET, .budget = budget });
}

static bool take_exact(struct options *options, const char *text)
{
	(void)text;
	return set_sampling(options, (struct hs_sampling){ .mode = HS_SAMPLING_EXACT });
}

static bool take_output(struct options *options, const char *text)
{
	options->output = parse_output_name(text);
	return true;
}

static bool take_format(struct options *options, const char *text)
{
	return profile_format_named(text, &options->format) ||
	       options_refuse(options, "--format expects pprof, html, collapsed, speedscope, json or text, got '%s'",
			      text);
}

static bool take_limit(struct options *options, const char *text)
{
	uint64_t number;

	if (!parse_size(text, &number))
		return options_refuse(options, "--limit expects a number, got '%s'", text);
	options->limit = number ? (size_t)number : SIZE_MAX;
	options->has_limit = true;
	return true;
}

static bool take_own_rule(struct options *options, enum frame_rule_kind kind, const char *text)
{
	if (options->own_rule_count == HS_OWN_RULES_MAX)
		return options_refuse(options, "%s", "too many --own and --library");
	options->own_rules[options->own_rule_count++] = (struct hs_own_rule){ kind, text };
	return true;
}

static bool take_own(struct options *options, const char *text) { return take_own_rule(options, FRAME_RULE_OWN, text); }

static bool take_library(struct options *options, const char *text)
{
	return take_own_rule(options, FRAME_RULE_LIBRARY, text);
}

// Where an option without a value is noted; NULL = it is none of these.
static bool *flag_of(struct options *options, enum option_id id)
{
	switch (id) {
	case OPTION_QUIET:
		return &options->quiet;
	case OPTION_VERBOSE:
		return &options->verbose;
	case OPTION_HELP:
		return &options->help;
	case OPTION_VERSION:
		return &options->version;
	case OPTION_JSON:
		return &options->json;
	case OPTION_STOP_RECORDING:
		return &options->stop_recording;
	case OPTION_START_RECORDING:
		return &options->start_recording;
	case OPTION_SURVIVORS:
		return &options->survivors;
	case OPTION_ERRORS:
		return &options->errors;
	case OPTION_STOP:
		return &options->stop;
	case OPTION_NO_CACHE:
		return &options->no_cache;
	case OPTION_DEBUGINFOD:
		return &options->wants_debuginfod;
	case OPTION_LEDGER:
		return &options->ledger;
	case OPTION_ANYWAY:
		return &options->anyway;
	case OPTION_CHILDREN:
		return &options->children;
	case OPTION_WIDE:
		return &options->wide;
	case OPTION_CUMULATIVE:
		return &options->view.cumulative;
	case OPTION_TREE:
		return &options->view.tree;
	case OPTION_BOTTOM_UP:
		return &options->view.bottom_up;
	case OPTION_ALL_FRAMES:
		return &options->view.all_frames;
	case OPTION_ALL:
		return &options->all;
	default:
		return NULL;
	}
}

static const struct {
	enum option_id id;
	bool (*take)(struct options *options, const char *text);
} takers[] = {
	{ OPTION_DEPTH, take_depth },
	{ OPTION_MAX_MEMORY, take_max_memory },
	{ OPTION_ALLOCATOR, take_allocator },
	{ OPTION_SAMPLE, take_sample },
	{ OPTION_SAMPLES_PER_WORD, take_samples_per_word },
	{ OPTION_EXACT, take_exact },
	{ OPTION_BUDGET, take_budget },
	{ OPTION_OUTPUT, take_output },
	{ OPTION_FORMAT, take_format },
	{ OPTION_AT_EXIT, run_words_take_at_exit },
	{ OPTION_AT_PEAK, run_words_take_at_peak },
	{ OPTION_EVERY, run_words_take_every },
	{ OPTION_ON, run_words_take_on },
	{ OPTION_DEBUGINFOD_TIME, symbol_words_take_time },
	{ OPTION_LIMIT, take_limit },
	{ OPTION_OWN, take_own },
	{ OPTION_LIBRARY, take_library },
	{ OPTION_BY, view_words_take_by },
	{ OPTION_SORT, view_words_take_sort },
	{ OPTION_FOCUS, view_words_take_focus },
	{ OPTION_IGNORE, view_words_take_ignore },
	{ OPTION_OLDER_THAN, block_words_take_older },
	{ OPTION_YOUNGER_THAN, block_words_take_younger },
	{ OPTION_MIN_SIZE, block_words_take_size },
	{ OPTION_THREAD, block_words_take_thread },
	{ OPTION_SINCE_DUMP, block_words_take_since },
	{ OPTION_LABELS, block_words_take_labels },
	{ OPTION_NAME, process_words_take_name },
	{ OPTION_CGROUP, process_words_take_cgroup },
	{ OPTION_CONTAINER, process_words_take_container },
	{ OPTION_USER, process_words_take_user },
	{ OPTION_FOR, watch_words_take_for },
	{ OPTION_PAGE, watch_words_take_page },
};

static bool take_option(struct options *options, enum option_id id, const char *text)
{
	bool *flag = flag_of(options, id);

	if (flag) {
		*flag = true;
		return true;
	}
	for (size_t i = 0; i < sizeof(takers) / sizeof(takers[0]); i++)
		if (takers[i].id == id)
			return takers[i].take(options, text);
	return options_refuse(options, "%s", "an option of the table that nobody takes");
}

static bool check_given(const struct options *options, uint64_t given)
{
	for (size_t i = 0; i < option_count; i++)
		if (given >> i & 1 && !option_any_is_for((int)option_table[i].id, options->command))
			return option_of_others(options, &option_table[i]);
	return true;
}

static bool check_ending(const struct options *options, const char *path)
{
	return !path || options->format != PROFILE_BY_NAME || !profile_format_is_unknown(path) ||
	       options_refuse(
		       options,
		       "no format of heapsnap ends as %s does: .pb.gz, .html, .txt, .json, .collapsed; or --format",
		       path);
}

// What goes together.
static bool check_settings(const struct options *options)
{
	if (options->has_sampling + options->stop_recording + options->start_recording > 1)
		return options_refuse(options, "%s",
				      "--stop-recording, --start-recording and new settings cannot be combined");
	if (options->command == COMMAND_SET && !options->has_sampling && !options->stop_recording &&
	    !options->start_recording && !options->depth)
		return options_refuse(options, "%s",
				      "what is to be set is missing (--exact, --sample, --samples-per-word, --budget, "
				      "--stop-recording, --start-recording, --depth)");
	if (options->output && strcmp(options->output, "-") == 0 && options->json)
		return options_refuse(options, "%s", "-o - and --json both want standard output");
	if (options->format != PROFILE_BY_NAME && !options->output && !options->at_exit && !options->at_peak)
		return options_refuse(options, "--format needs %s",
				      options->command == COMMAND_RUN       ? "-o, --at-exit or --at-peak"
				      : options->command == COMMAND_PROFILE ? "-o or --at-peak"
									    : "-o");
	if (options->command == COMMAND_REPORT && options->path_count && hs_process_filter_is_given(&options->filter))
		return options_refuse(options, "file %s and --name, --cgroup, --container, --user cannot be combined",
				      options->paths[0]);
	if (!check_ending(options, options->output) || !check_ending(options, options->at_exit) ||
	    !check_ending(options, options->at_peak))
		return false;
	if (options->output && !*options->output)
		return options_refuse(options, "%s", "the output file's name is empty");
	if (options->command != COMMAND_DUMP && options->command != COMMAND_RUN && options->output &&
	    options->output[strlen(options->output) - 1] == '/')
		return options_refuse(options, "-o DIR/ is only valid with dump and run; add a file name to %s",
				      options->output);
	return watch_words_check(options) && run_words_check(options) && view_words_check(options) &&
	       block_words_check(options);
}

// What is nothing but digits is a process; a file of such a name is ./123.
static bool is_number(const char *text) { return *text && text[strspn(text, "0123456789")] == 0; }

// Files, as many as the command takes.
static bool take_paths(struct options *options, int count, char **operands)
{
	const int wanted = options->command == COMMAND_DIFF ? 2 : 1;

	if (count > wanted)
		return options_refuse(options, "too many arguments: %s", operands[wanted]);
	if (count < wanted)
		return options_refuse(options, "%s",
				      wanted == 2 ? "two files are needed" : "the file or PID is missing");
	for (; options->path_count < (size_t)count; options->path_count++)
		options->paths[options->path_count] = operands[options->path_count];
	return true;
}

static bool check_operands(struct options *options, uint64_t given, int count, char **operands)
{
	const bool is_of_process =
		options->command == COMMAND_REPORT &&
		(count == 1 ? is_number(operands[0]) : count == 0 && hs_process_filter_is_given(&options->filter));
	bool is_good;

	if (options->help || options->version)
		return true;
	if (options->command == COMMAND_NONE)
		return options_refuse(options, "%s", "a command is missing");
	if (!check_given(options, given))
		return false;
	if (options->command == COMMAND_RUN) {
		options->command_words = operands;
		is_good = count > 0 || options_refuse(options, "%s", "the command is missing");
	} else if (command_takes_files(command_describe(options->command)) && !is_of_process) {
		is_good = take_paths(options, count, operands);
	} else {
		is_good = process_words_take(options, count, operands);
	}
	return is_good && check_settings(options) && symbol_words_check(options);
}

// heapsnap help COMMAND
static bool take_help_subject(struct options *options, int count, char **words)
{
	if (count > 1)
		return options_refuse(options, "too many arguments: %s", words[1]);
	options->help = false; // a word that is no command would else pass for one
	if (count == 1 && !take_command(options, words[0]))
		return false;
	return options->help = true;
}

// What getopt wants, of the table. A colon first: it then tells a missing value from an unknown option. `is_ordered`:
// options end at the first word that is none, so with a plus before.
static void make_getopt_tables(bool is_ordered, struct option long_options[OPTIONS_MAX + 1],
			       char short_options[2 * OPTIONS_MAX + 3])
{
	if (is_ordered)
		*short_options++ = '+';
	*short_options++ = ':';
	for (size_t i = 0; i < option_count && i < OPTIONS_MAX; i++) {
		const struct option_description *option = &option_table[i];

		long_options[i] = (struct option){ option->name, option->value ? required_argument : no_argument, NULL,
						   (int)option->id };
		if (!option_has_letter(option))
			continue;
		*short_options++ = (char)option->id;
		if (option->value)
			*short_options++ = ':';
	}
	long_options[option_count] = (struct option){ 0 };
	*short_options = 0;
}

static bool parse_options(int argc, char **argv, struct options *options, uint64_t *given_ret)
{
	struct option long_options[OPTIONS_MAX + 1];
	char short_options[2 * OPTIONS_MAX + 3];
	int option;

	*given_ret = 0;
	make_getopt_tables(options->command == COMMAND_RUN, long_options, short_options);
	while ((option = getopt_long(argc, argv, short_options, long_options, NULL)) != -1) {
		const struct option_description *description = option_describe(option);

		if (option == ':' || !description)
			return unknown_option(options, option, argv);
		*given_ret |= UINT64_C(1) << (description - option_table);
		if (!take_option(options, description->id, optarg))
			return false;
	}
	return true;
}

// Whether an option --json, or a beginning of it that getopt takes, stands anywhere: a line that cannot be understood
// is told to programs all the same.
static bool has_json(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strlen(argv[i]) > 2 && strncmp("--json", argv[i], strlen(argv[i])) == 0)
			return true;
	return false;
}

bool options_parse(int argc, char **argv, struct options *ret)
{
	uint64_t given;
	bool is_help;

	*ret = (struct options){ .sampling = { .mode = HS_SAMPLING_BUDGET, .budget = HS_SAMPLING_BUDGET_DEFAULT },
				 .limit = ROWS_DEFAULT,
				 .wants_json = has_json(argc, argv) };
	opterr = 0;
	optind = 1;
	if (argc > 1 && argv[1][0] != '-') {
		if (!take_command(ret, argv[1]))
			return false;
		optind = 2;
	}
	is_help = ret->help;
	if (!parse_options(argc, argv, ret, &given))
		return false;
	// A command may also come after options.
	if (ret->command == COMMAND_NONE && !is_help && optind < argc) {
		if (!take_command(ret, argv[optind++]))
			return false;
		is_help = ret->command == COMMAND_NONE;
	}
	if (is_help)
		return take_help_subject(ret, argc - optind, argv + optind);
	run_words_take_only_profile(ret);
	return check_operands(ret, given, argc - optind, argv + optind);
}
