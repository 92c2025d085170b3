// SPDX-License-Identifier: Apache-2.0
// The one table of commands and options. The parser, the texts of --help, the manual pages and the completions of
// shells are all made of it.
#ifndef HEAPSNAP_CLI_OPTION_TABLE_H
#define HEAPSNAP_CLI_OPTION_TABLE_H

#include <stddef.h>

enum command {
	COMMAND_NONE,
	COMMAND_CHECK,
	COMMAND_ATTACH,
	COMMAND_SET,
	COMMAND_DUMP,
	COMMAND_DETACH,
	COMMAND_STATUS,
	COMMAND_RUN,
	COMMAND_REPORT,
	COMMAND_DIFF,
	COMMAND_PROFILE,
	COMMAND_WHY,
	COMMAND_TOP
};

struct command_description {
	enum command command;
	const char *name;
	const char *operands; // as in the usage: "PID...", "[PID...]", "PID... [-o FILE]", "FILE|PID", "OLD NEW"
	const char *summary;  // what it does, in a line
	const char *brief;    // the same in fewer words, for completions; without quotes, brackets and colons
	const char *text;     // paragraphs for --help, separated by a newline each
};

// As in struct option: the values are what getopt_long returns, a letter or a number above all letters.
enum option_id {
	OPTION_QUIET = 'q',
	OPTION_VERBOSE = 'v',
	OPTION_HELP = 'h',
	OPTION_VERSION = 'V',
	OPTION_OUTPUT = 'o',
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
	OPTION_FORMAT,
	OPTION_ERRORS,
	OPTION_STOP,
	OPTION_NO_CACHE,
	OPTION_DEBUGINFOD,
	OPTION_DEBUGINFOD_TIME,
	OPTION_LEDGER,
	OPTION_WIDE,
	OPTION_LIMIT,
	OPTION_OWN,
	OPTION_LIBRARY,
	OPTION_BY,
	OPTION_CUMULATIVE,
	OPTION_TREE,
	OPTION_BOTTOM_UP,
	OPTION_ALL_FRAMES,
	OPTION_FOCUS,
	OPTION_IGNORE,
	OPTION_SORT,
	OPTION_OLDER_THAN,
	OPTION_YOUNGER_THAN,
	OPTION_MIN_SIZE,
	OPTION_THREAD,
	OPTION_SINCE_DUMP,
	OPTION_LABELS,
	OPTION_SURVIVORS,
	OPTION_NAME,
	OPTION_CGROUP,
	OPTION_CONTAINER,
	OPTION_USER,
	OPTION_ALL,
	OPTION_AT_EXIT,
	OPTION_AT_PEAK,
	OPTION_EVERY,
	OPTION_ON,
	OPTION_ANYWAY,
	OPTION_CHILDREN,
	OPTION_FOR,
	OPTION_PAGE,
};

#define FOR(command) (1u << COMMAND_##command)
#define FOR_ALL      (~0u)
// Those that show a profile.
#define FOR_VIEWS (FOR(DUMP) | FOR(RUN) | FOR(PROFILE) | FOR(REPORT) | FOR(DIFF))
// Those that take a snapshot in which blocks can be told apart.
#define FOR_BLOCKS (FOR(DUMP) | FOR(PROFILE) | FOR(REPORT))
// Those that attach for themselves, but for top.
#define FOR_RECORDS (FOR(RUN) | FOR(PROFILE) | FOR(WHY))
// Commands on processes that are there: by their numbers, or by what they are.
#define FOR_PROCESSES                                                                                                  \
	(FOR(CHECK) | FOR(ATTACH) | FOR(SET) | FOR(DUMP) | FOR(DETACH) | FOR(STATUS) | FOR(PROFILE) | FOR(WHY) |       \
	 FOR(TOP) | FOR(REPORT))
// Whose standard output is its own.
#define FOR_RESULTS (FOR_ALL & ~FOR(NONE) & ~FOR(RUN) & ~FOR(TOP))

// Limits as users write them. options.c has the numbers, and asserts that they agree.
#define LIMIT_DEPTH        "256"
#define LIMIT_MEMORY_LEAST "1M"
#define LIMIT_MEMORY_MOST  "120G"
#define LIMIT_INTERVAL     "2G"
#define LIMIT_ROWS         "10"
#define LIMIT_DEBUGINFOD   "90s"

enum { OPTIONS_MAX = 64 }; // rows; a bit each in options.c

struct option_description {
	enum option_id id;
	const char *name;  // without its dashes
	const char *value; // what it takes, as in the usage; NULL = nothing. "FILE" is completed as one
	unsigned commands; // bits FOR(...) of those that know it; FOR(NONE): without a command
	const char *brief; // for completions: one line without quotes, brackets and colons
	const char *help;  // for --help: paragraphs, separated by a newline each
};

extern const struct command_description command_table[];
extern const size_t command_count;
extern const struct option_description option_table[];
extern const size_t option_count;

// NULL = there is none.
const struct command_description *command_describe(enum command command);
const struct option_description *option_describe(int id);

// Whether its operands are files, and not a process.
static inline int command_takes_files(const struct command_description *command)
{
	return command->operands[0] == 'F' || command->operands[0] == 'O';
}

// Whether they are a command and its arguments: options end where it begins.
static inline int command_takes_command(const struct command_description *command)
{
	return command->operands[0] == '-';
}

static inline int option_has_letter(const struct option_description *option) { return option->id < 256; }
static inline int option_is_for(const struct option_description *option, enum command command)
{
	return (option->commands >> command) & 1;
}

// Whether the usage has it among the operands: dump's [-o FILE], why's [--for TIME].
int option_is_operand(const struct option_description *option, const struct command_description *command);

// An option may stand in the table several times in a row, in other words for other commands. Whether this is the first
// time; and whether any of them is for the command.
int option_is_first(size_t index);
int option_any_is_for(int id, enum command command);

#endif
