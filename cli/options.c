// SPDX-License-Identifier: Apache-2.0
#include "cli/options.h"

#include "base/printable.h"
#include "inject/abi/limits.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char common_help[] = "  --json           results as one JSON object on standard output\n"
				  "  -q, --quiet      no messages but errors\n"
				  "  -v, --verbose    say what is done\n"
				  "  -h, --help       this text\n";

static const struct {
	const char *name;
	enum command command;
	const char *usage, *summary, *help;
} commands[] = {
	{ "check", COMMAND_CHECK, "heapsnap check PID [--max-memory SIZE] [--allocator NAME=KIND]",
	  "show what an attach would meet: whether it would work, and why not",
	  "Touches nothing: reads /proc and files. Names every category on which attach would refuse, every allocator that it found,\n"
	  "and every function with what speaks against hooking it. Exit status 0: attach would go ahead, 1: it would refuse.\n\n"
	  "  --max-memory SIZE, --allocator NAME=KIND\n"
	  "                   as for attach\n" },
	{ "attach", COMMAND_ATTACH,
	  "heapsnap attach PID [--exact | --sample SIZE | --samples-per-word RATE | --budget PERCENT] [--depth N] [--max-memory SIZE] "
	  "[--allocator NAME=KIND]",
	  "start tracking the live heap of a running process",
	  "From now on every allocation of the process is recorded with its call stack. Nothing needs to be prepared in it.\n"
	  "Its threads are stopped for a few milliseconds. On failure the process is as it was.\n\n"
	  "  --budget PERCENT the default, 3: each allocation is recorded while that costs a thread no more than this share of its time;\n"
	  "                   under more load only samples, as many as the budget allows. Totals are estimates then\n"
	  "  --exact          each allocation is recorded, whatever it costs\n"
	  "  --sample SIZE    one sample every so many bytes on average\n"
	  "  --samples-per-word RATE\n"
	  "                   the same, said as samples in each 8 bytes (1e-4 is one in 80000 bytes); records say how many\n"
	  "                   samples fell into their block\n"
	  "  --depth N        frames kept of a call stack, 1 to 256 (default 256)\n"
	  "  --max-memory SIZE\n"
	  "                   most memory that the records may use, with suffix K, M or G\n"
	  "                   (default: a quarter of what the machine has free, an eighth of what a limit leaves the process;\n"
	  "                   at least 1M, at most 120G)\n"
	  "  --allocator NAME=KIND\n"
	  "                   also track a function of this name; may be repeated. KIND is a known function with the same\n"
	  "                   arguments, like malloc, or a layout, like 'alloc(_,size)' and 'free(_,block)'; behind it may stand\n"
	  "                   nothrow: it never throws and is no cancellation point; wrong, it ends the process. See heapsnap(1)\n" },
	{ "set", COMMAND_SET, "heapsnap set PID SETTING...", "change what an attached process records from now on",
	  "What is recorded already stays, and is followed until it is freed. Prints the old settings and the new ones.\n"
	  "The threads are stopped for a few milliseconds.\n\n"
	  "  --exact, --sample SIZE, --samples-per-word RATE, --budget PERCENT, --depth N\n"
	  "                   as for attach\n"
	  "  --stop-recording record nothing new\n"
	  "  --start-recording\n"
	  "                   record again what was recorded before\n" },
	{ "dump", COMMAND_DUMP, "heapsnap dump PID -o FILE [--errors] [--stop]",
	  "write the live heap as a pprof profile; any number of times",
	  "Writes a gzipped pprof profile and prints totals, the sites with most live bytes and the ledger of what was seen and lost.\n"
	  "The file is there whole or not at all.\n\n"
	  "  -o, --output FILE\n"
	  "                   the profile; - for standard output\n"
	  "  --errors         label each stack of the profile with its number of samples and its standard error\n"
	  "  --stop           stop all threads while the table is copied; else they run, and are stopped only where that cannot\n"
	  "                   be, which is said\n" },
	{ "detach", COMMAND_DETACH, "heapsnap detach PID", "stop tracking and take everything out of the process again",
	  "Takes the hooks out, waits until no thread is inside, unmaps everything and checks that nothing is left.\n\n" },
	{ "status", COMMAND_STATUS, "heapsnap status [PID]",
	  "show what is attached; without PID, every attached process on the machine", "Touches nothing.\n\n" },
};

enum { COMMAND_COUNT = sizeof(commands) / sizeof(commands[0]) };

void options_print_help(enum command command)
{
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		if (commands[i].command != command)
			continue;
		printf("usage: %s\n\n%s.\n\n%s%s", commands[i].usage, commands[i].summary, commands[i].help,
		       common_help);
		return;
	}
	printf("heapsnap: which call stacks hold the memory of a running process\n\nusage:\n");
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		printf("  %-52s %s\n", commands[i].usage, commands[i].summary);
	printf("\n%s  -V, --version    the version\n\n"
	       "Exit status: 0 done, 1 refused or failed (the process is untouched or restored), 2 wrong usage.\n"
	       "`heapsnap COMMAND --help` says more; so does the manual page heapsnap(1).\n",
	       common_help);
}

static bool usage_error(enum command command, const char *format, const char *what)
{
	char *printable = hs_printable(what); // who runs the tool may have it from somebody else

	fprintf(stderr, "heapsnap: ");
	fprintf(stderr, format, printable ? printable : "?");
	free(printable);
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (commands[i].command == command) {
			fprintf(stderr, "\nusage: %s (`heapsnap %s --help` says more)\n", commands[i].usage,
				commands[i].name);
			return false;
		}
	fprintf(stderr, "\nusage: heapsnap check|attach|set|dump|detach|status [PID] (`heapsnap --help` says more)\n");
	return false;
}

// A decimal number with an optional suffix K, M, G (1024 steps; also KB, KiB). Returns false for anything else.
static bool parse_size(const char *text, uint64_t *ret)
{
	static const char *const suffixes[] = { "", "B", "K", "KB", "KiB", "M", "MB", "MiB", "G", "GB", "GiB" };
	static const unsigned shifts[] = { 0, 0, 10, 10, 10, 20, 20, 20, 30, 30, 30 };
	unsigned long long value;
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno)
		return false;
	for (size_t i = 0; i < sizeof(shifts) / sizeof(shifts[0]); i++) {
		if (strcasecmp(end, suffixes[i]) != 0)
			continue;
		*ret = (uint64_t)value << shifts[i];
		return *ret >> shifts[i] == value;
	}
	return false;
}

// A percentage above 0, with at most four digits behind the point, in millionths.
static bool parse_percent(const char *text, uint32_t *ret)
{
	char *end;
	double value;

	if (*text != '.' && (*text < '0' || *text > '9'))
		return false; // neither spaces nor signs, nor names of numbers
	value = strtod(text, &end);
	if (*end || strpbrk(text, "xXeEpP") || !(value >= 0.0001) || value > 100)
		return false;
	*ret = (uint32_t)(value * 10000 + 0.5);
	return true;
}

// Samples per word of 8 bytes, as a decimal number (1e-4, 0.0001): the mean interval in bytes.
static bool parse_rate(const char *text, uint32_t *ret)
{
	char *end;
	double value;

	if (*text != '.' && (*text < '0' || *text > '9'))
		return false;
	value = strtod(text, &end);
	return !*end && !strpbrk(text, "xXpP") && hs_sampling_interval_of_rate(value, ret);
}

static enum command find_command(const char *name)
{
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (strcmp(commands[i].name, name) == 0)
			return commands[i].command;
	return COMMAND_NONE;
}

static bool check_operands(struct options *options, int count, char **operands)
{
	int wanted = 1;

	if (options->help || options->version)
		return true;
	if (options->command == COMMAND_NONE)
		return usage_error(COMMAND_NONE, "%s", "a command is missing");
	if (count > wanted)
		return usage_error(options->command, "too many arguments: %s", operands[wanted]);
	if (count == 1)
		options->pid_text = operands[0];
	else if (options->command != COMMAND_STATUS)
		return usage_error(options->command, "%s", "the PID is missing");
	if (options->command == COMMAND_DUMP && !options->output)
		return usage_error(options->command, "%s", "the output file is missing (-o FILE)");
	if (options->output && options->command != COMMAND_DUMP)
		return usage_error(options->command, "%s", "-o belongs to dump");
	if (options->errors && options->command != COMMAND_DUMP)
		return usage_error(options->command, "%s", "--errors belongs to dump");
	if (options->depth && options->command != COMMAND_ATTACH && options->command != COMMAND_SET)
		return usage_error(options->command, "%s", "--depth belongs to attach and set");
	if (options->has_sampling && options->command != COMMAND_ATTACH && options->command != COMMAND_SET)
		return usage_error(options->command, "%s",
				   "--sample, --samples-per-word, --exact and --budget belong to attach and set");
	if ((options->stop_recording || options->start_recording) && options->command != COMMAND_SET)
		return usage_error(options->command, "%s", "--stop-recording and --start-recording belong to set");
	if (options->has_sampling + options->stop_recording + options->start_recording > 1)
		return usage_error(options->command, "%s",
				   "--stop-recording, --start-recording and new settings exclude each other");
	if (options->command == COMMAND_SET && !options->has_sampling && !options->stop_recording &&
	    !options->start_recording && !options->depth)
		return usage_error(options->command, "%s",
				   "what is to be set is missing (--exact, --sample, --samples-per-word, --budget, "
				   "--stop-recording, --start-recording, --depth)");
	if (options->stop && options->command != COMMAND_DUMP)
		return usage_error(options->command, "%s", "--stop belongs to dump");
	if ((options->max_memory || options->allocator_count) && options->command != COMMAND_ATTACH &&
	    options->command != COMMAND_CHECK)
		return usage_error(options->command, "%s", "--max-memory and --allocator belong to attach and check");
	if (options->output && strcmp(options->output, "-") == 0 && options->json)
		return usage_error(options->command, "%s", "-o - and --json both want standard output");
	if (options->output && !*options->output)
		return usage_error(options->command, "%s", "the output file's name is empty");
	return true;
}

static bool take_addition(struct options *options, const char *text)
{
	struct hs_error *error;

	if (options->allocator_count == HS_USER_ALLOCATORS_MAX)
		return usage_error(options->command, "%s", "too many --allocator");
	error = hs_user_allocator_check(text);
	if (!error) {
		options->allocators[options->allocator_count++] = text;
		return true;
	}
	usage_error(options->command, "--allocator: %s", error->message);
	hs_error_destroy(error);
	return false;
}

static bool take_sampling(struct options *options, struct hs_sampling sampling)
{
	if (options->has_sampling)
		return usage_error(
			options->command, "%s",
			"only one of --sample, --samples-per-word, --exact and --budget can be given, and once");
	options->has_sampling = true;
	options->sampling = sampling;
	return true;
}

bool options_parse(int argc, char **argv, struct options *ret)
{
	enum {
		OPTION_JSON = 256,
		OPTION_DEPTH,
		OPTION_MAX_MEMORY,
		OPTION_ALLOCATOR,
		OPTION_SAMPLE,
		OPTION_SAMPLES_PER_WORD,
		OPTION_EXACT,
		OPTION_BUDGET,
		OPTION_STOP_RECORDING,
		OPTION_START_RECORDING,
		OPTION_ERRORS,
		OPTION_STOP
	};
	static const struct option long_options[] = {
		{ "depth", required_argument, NULL, OPTION_DEPTH },
		{ "max-memory", required_argument, NULL, OPTION_MAX_MEMORY },
		{ "allocator", required_argument, NULL, OPTION_ALLOCATOR },
		{ "sample", required_argument, NULL, OPTION_SAMPLE },
		{ "exact", no_argument, NULL, OPTION_EXACT },
		{ "budget", required_argument, NULL, OPTION_BUDGET },
		{ "errors", no_argument, NULL, OPTION_ERRORS },
		{ "samples-per-word", required_argument, NULL, OPTION_SAMPLES_PER_WORD },
		{ "stop-recording", no_argument, NULL, OPTION_STOP_RECORDING },
		{ "start-recording", no_argument, NULL, OPTION_START_RECORDING },
		{ "stop", no_argument, NULL, OPTION_STOP },
		{ "output", required_argument, NULL, 'o' },
		{ "json", no_argument, NULL, OPTION_JSON },
		{ "quiet", no_argument, NULL, 'q' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ 0 },
	};
	static const char short_options[] = ":o:qvhV";
	uint64_t number;
	uint32_t budget, interval;
	int first = 1;

	*ret = (struct options){ .sampling = { .mode = HS_SAMPLING_BUDGET, .budget = HS_SAMPLING_BUDGET_DEFAULT } };
	if (argc > 1 && argv[1][0] != '-') {
		ret->command = find_command(argv[1]);
		if (ret->command == COMMAND_NONE)
			return usage_error(COMMAND_NONE, "unknown command: %s", argv[1]);
		first = 2;
	}
	opterr = 0;
	optind = first;
	for (;;) {
		int option = getopt_long(argc, argv, short_options, long_options, NULL);

		if (option == -1)
			break;
		switch (option) {
		case 'o':
			ret->output = optarg;
			break;
		case 'q':
			ret->quiet = true;
			break;
		case 'v':
			ret->verbose = true;
			break;
		case 'h':
			ret->help = true;
			break;
		case 'V':
			ret->version = true;
			break;
		case OPTION_JSON:
			ret->json = true;
			break;
		case OPTION_DEPTH:
			if (!parse_size(optarg, &number) || number < 1 || number > HS_DEPTH_MAX)
				return usage_error(ret->command, "--depth takes a number from 1 to 256, not %s",
						   optarg);
			ret->depth = (uint32_t)number;
			break;
		case OPTION_MAX_MEMORY:
			if (!parse_size(optarg, &number) || number < HS_REGION_MEMORY_MIN ||
			    number > HS_REGION_MEMORY_MAX)
				return usage_error(ret->command, "--max-memory takes a size from 1M to 120G, not %s",
						   optarg);
			ret->max_memory = number;
			break;
		case OPTION_SAMPLE:
			if (!parse_size(optarg, &number) || number < 1 || number > HS_INTERVAL_MAX)
				return usage_error(
					ret->command,
					"--sample takes a mean interval from 1 (every allocation) to 2G bytes, not %s",
					optarg);
			if (!take_sampling(ret, (struct hs_sampling){ .mode = number > 1 ? HS_SAMPLING_INTERVAL
											 : HS_SAMPLING_EXACT,
								      .interval = (uint32_t)number }))
				return false;
			break;
		case OPTION_SAMPLES_PER_WORD:
			if (!parse_rate(optarg, &interval))
				return usage_error(ret->command,
						   "--samples-per-word takes a number from 3.8e-9 to 4, not %s",
						   optarg);
			if (!take_sampling(ret,
					   (struct hs_sampling){ .mode = HS_SAMPLING_WORDS, .interval = interval }))
				return false;
			break;
		case OPTION_STOP_RECORDING:
			ret->stop_recording = true;
			break;
		case OPTION_START_RECORDING:
			ret->start_recording = true;
			break;
		case OPTION_STOP:
			ret->stop = true;
			break;
		case OPTION_EXACT:
			if (!take_sampling(ret, (struct hs_sampling){ .mode = HS_SAMPLING_EXACT }))
				return false;
			break;
		case OPTION_BUDGET:
			if (!parse_percent(optarg, &budget))
				return usage_error(ret->command,
						   "--budget takes a percentage above 0 and up to 100, not %s", optarg);
			if (!take_sampling(ret, (struct hs_sampling){ .mode = HS_SAMPLING_BUDGET, .budget = budget }))
				return false;
			break;
		case OPTION_ERRORS:
			ret->errors = true;
			break;
		case OPTION_ALLOCATOR:
			if (!take_addition(ret, optarg))
				return false;
			break;
		case ':':
			return usage_error(ret->command, "%s needs a value", argv[optind - 1]);
		default:
			// An unknown letter; getopt may not be past its word yet. A known one stands for --quiet=value.
			if (optopt > 0 && optopt < 128 && !strchr(short_options, optopt))
				return usage_error(ret->command, "unknown option: %s",
						   (const char[]){ '-', (char)optopt, '\0' });
			return usage_error(ret->command, "unknown option: %s", argv[optind - 1]);
		}
	}
	// A command may also come after options.
	if (ret->command == COMMAND_NONE && optind < argc) {
		ret->command = find_command(argv[optind]);
		if (ret->command == COMMAND_NONE)
			return usage_error(COMMAND_NONE, "unknown command: %s", argv[optind]);
		optind++;
	}
	return check_operands(ret, argc - optind, argv + optind);
}
