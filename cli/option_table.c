// SPDX-License-Identifier: Apache-2.0
#include "cli/option_table.h"

#include <string.h>

const struct command_description command_table[] = {
	{ COMMAND_CHECK, "check", "PID...", "show what an attach would meet: whether it would work, and why not",
	  "show what an attach would meet",
	  "Touches nothing: reads /proc and files. Names every reason for which attach would refuse, every allocator that it found, "
	  "and every function that cannot be hooked. Exit status 0: attach would go ahead, 1: it would refuse." },
	{ COMMAND_ATTACH, "attach", "PID...", "start tracking the live heap of a running process",
	  "start tracking the live heap of a process",
	  "From now on every allocation of the process is recorded with its call stack. Nothing needs to be prepared in it. "
	  "Its threads are stopped for a few milliseconds. On failure the process is as it was." },
	{ COMMAND_RUN, "run", "-- COMMAND ...", "run a command, recorded from its first allocation to its end",
	  "run a command and record it",
	  "Starts the command and records it before any code of it runs. Its exit status, its signals, its input and its output "
	  "are its own. When it ends, whatever ends it, what was live then is shown on standard error; with --at-exit it is "
	  "also written. Where the command executes another program, that one is recorded from its beginning. "
	  "Processes that it starts are recorded with --children." },
	{ COMMAND_SET, "set", "PID...", "change what an attached process records from now on",
	  "change what is recorded from now on",
	  "Blocks recorded so far stay recorded until they are freed. Prints the old settings and the new ones. "
	  "The threads are stopped for a few milliseconds." },
	{ COMMAND_DUMP, "dump", "PID... [-o FILE]",
	  "show the live heap, and write it as a profile; any number of times", "show and write the live heap",
	  "Prints how much of the process is recorded, the sites with most live bytes, and what was lost. With -o it also writes "
	  "a profile: a gzipped pprof profile, or, where the name ends in .html, a page that needs nothing else. The file is "
	  "written completely or not at all." },
	{ COMMAND_PROFILE, "profile", "PID --for TIME [-o FILE]", "attach, wait, dump and detach in one",
	  "attach, wait, dump and detach in one",
	  "Records the process for that long, then shows and writes the blocks that were allocated meanwhile and are live, and takes "
	  "everything out again. ^C ends the wait: the heap is written and the process left as if the time were over." },
	{ COMMAND_WHY, "why", "PID [--for TIME]", "say why a process grows: watch it for a minute, and detach",
	  "say why a process grows",
	  "Attaches, takes snapshots of the heap for that time, detaches, and prints a verdict with its reasons, what grows in bytes "
	  "a second, and what is allocated and freed again. Nothing is said that the figures do not bear. A process that is attached "
	  "already stays so. Where ^C or the process's end comes early, what was seen until then is judged." },
	{ COMMAND_TOP, "top", "PID", "show live which sites grow, at a terminal", "show live which sites grow",
	  "Attaches, takes a snapshot of the heap every two seconds without stopping the process, shows the sites with what they hold and by how "
	  "much they grow a second, and detaches at the end: q or ^C. s sorts, / searches, Enter shows a site's callers, ? shows all "
	  "keys. A process that is attached already stays so." },
	{ COMMAND_REPORT, "report", "FILE|PID", "show a profile that was written before, or an attached process",
	  "show a profile from a file, or of a process",
	  "Prints the sites with most live bytes of a pprof file, heapsnap's or another program's, or of an attached process, of "
	  "which no file is written. Digits alone are a PID: a file of that name is ./123. - is standard input." },
	{ COMMAND_DIFF, "diff", "OLD NEW", "show what changed between two profiles",
	  "show what changed between two profiles",
	  "Prints the sites whose live bytes changed most between two pprof files, with how sure that is. With -o it also writes "
	  "the difference, as dump writes profiles: values in it may be below 0." },
	{ COMMAND_DETACH, "detach", "PID...", "stop tracking and take everything out of the process again",
	  "stop tracking and take everything out",
	  "Removes the hooks, waits until no thread is inside the payload, unmaps everything and checks that nothing is left." },
	{ COMMAND_STATUS, "status", "[PID...]", "show what is attached; without PID, every attached process",
	  "show what is attached", "Touches nothing." },
};
const size_t command_count = sizeof(command_table) / sizeof(command_table[0]);

const struct option_description option_table[] = {
	{ OPTION_BUDGET, "budget", "PERCENT", FOR(ATTACH) | FOR_RECORDS | FOR(TOP) | FOR(SET),
	  "most of a thread's time that recording may take",
	  "default for attach: 3. Each allocation is recorded as long as that costs a thread at most this share of its time; "
	  "under more load, only as many samples as the budget allows. Totals are then estimates" },
	{ OPTION_EXACT, "exact", NULL, FOR(ATTACH) | FOR_RECORDS | FOR(TOP) | FOR(SET),
	  "record every allocation, whatever it costs", "record every allocation, whatever it costs" },
	{ OPTION_SAMPLE, "sample", "SIZE", FOR(ATTACH) | FOR_RECORDS | FOR(TOP) | FOR(SET),
	  "one sample every so many bytes on average", "one sample every so many bytes on average" },
	{ OPTION_SAMPLES_PER_WORD, "samples-per-word", "RATE", FOR(ATTACH) | FOR_RECORDS | FOR(TOP) | FOR(SET),
	  "samples in each 8 bytes on average",
	  "the same, said as samples in each 8 bytes (1e-4 is one in 80000 bytes); records say how many samples fell into "
	  "their block" },
	{ OPTION_STOP_RECORDING, "stop-recording", NULL, FOR(SET), "record nothing new", "record nothing new" },
	{ OPTION_START_RECORDING, "start-recording", NULL, FOR(SET), "record again what was recorded before",
	  "record again what was recorded before" },
	{ OPTION_DEPTH, "depth", "N", FOR(ATTACH) | FOR_RECORDS | FOR(TOP) | FOR(SET),
	  "frames kept of a call stack, 1 to " LIMIT_DEPTH,
	  "frames kept of a call stack, 1 to " LIMIT_DEPTH " (attach: default " LIMIT_DEPTH ")" },
	{ OPTION_MAX_MEMORY, "max-memory", "SIZE", FOR(ATTACH) | FOR_RECORDS | FOR(TOP) | FOR(CHECK),
	  "most memory that the records may use",
	  "most memory that the records may use, with suffix K, M or G (default: a quarter of what the machine has free, an "
	  "eighth of what a limit leaves the process; at least " LIMIT_MEMORY_LEAST ", at most " LIMIT_MEMORY_MOST
	  ")" },
	{ OPTION_ALLOCATOR, "allocator", "NAME=KIND", FOR(ATTACH) | FOR_RECORDS | FOR(TOP) | FOR(CHECK),
	  "also track a function of this name",
	  "also track a function of this name; may be repeated. KIND is a known function with the same arguments, like "
	  "malloc, or a layout, like 'alloc(_,size)' and 'free(_,block)'; add the word nothrow if the function never throws and "
	  "is no cancellation point; if that is wrong, the process ends. See heapsnap-attach(1)" },
	{ OPTION_OUTPUT, "output", "FILE", FOR(DUMP), "where the profile goes",
	  "the profile, or the difference, for pprof; - for standard output. NAME.html is a page that a browser shows, NAME.txt a "
	  "report to be read, NAME.json all stacks as JSON, NAME.collapsed what flamegraph.pl reads; see --format. DIR/ makes a name of program, PID and time" },
	{ OPTION_OUTPUT, "output", "FILE", FOR(PROFILE) | FOR(WHY), "where the profile goes",
	  "the profile, for pprof; - for standard output. NAME.html is a page that a browser shows, NAME.txt a report to be "
	  "read, NAME.json all stacks as JSON, NAME.collapsed what flamegraph.pl reads; see --format. Of why it is what was live at the end" },
	{ OPTION_OUTPUT, "output", "FILE", FOR(RUN), "where the profiles of --every and --on go",
	  "where the profiles of --every and --on go, each with a number before the ending; with --children "
	  "also with the PID. DIR/ makes a name of program, PID, time and number. Without those two: as --at-exit" },
	{ OPTION_OUTPUT, "output", "FILE", FOR(REPORT) | FOR(DIFF), "where to write it, in another format",
	  "write the profile, or the difference, too: NAME.html is a page that a browser shows, NAME.txt a report to be read, "
	  "NAME.json all stacks as JSON, NAME.collapsed what flamegraph.pl reads, all else for pprof; - for standard output; see --format" },
	{ OPTION_FORMAT, "format", "FORMAT", FOR(DUMP) | FOR_RECORDS | FOR(REPORT) | FOR(DIFF), "format of the profile",
	  "format of what is written, whatever its name ends in: pprof, html, json, text; but for diff also collapsed, speedscope" },
	{ OPTION_AT_EXIT, "at-exit", "FILE", FOR(RUN), "where the profile of the end goes",
	  "the profile of what is live when the command ends; also by a signal. DIR/ makes a name of program, PID and time" },
	{ OPTION_AT_PEAK, "at-peak", "FILE", FOR(RUN) | FOR(PROFILE), "where the profile of the peak goes",
	  "the profile of the moment at which most was live, as far as is seen by copying the heap again and again while it runs. "
	  "Of run: DIR/ makes a name of program, PID and time; not with --children" },
	{ OPTION_EVERY, "every", "TIME", FOR(RUN), "take a profile each time so much has passed",
	  "write a profile each time so much has passed, as 60s or 5m; needs -o" },
	{ OPTION_EVERY, "every", "TIME", FOR(TOP), "time between two snapshots",
	  "time between two snapshots, as 10s or 500ms (default: 2s); where one takes long, they are further apart" },
	{ OPTION_ON, "on", "SIGNAL", FOR(RUN), "take a profile when heapsnap gets this signal",
	  "write a profile when heapsnap, not the command, gets this signal, as SIGUSR2; needs -o" },
	{ OPTION_ANYWAY, "anyway", NULL, FOR(RUN), "run the command also where it cannot be recorded",
	  "run the command also where it cannot be recorded; without it, it is not run then" },
	{ OPTION_CHILDREN, "children", NULL, FOR(RUN), "record the processes that the command starts, too",
	  "record also what the command starts, and what that starts: each process that executes a program, from then to its "
	  "end, and each that was only forked, from half a second on, with profiles of its own. Of --at-exit DIR/ each has its name, PID and time in DIR/; of --at-exit FILE "
	  "children have their PID before the ending" },
	{ OPTION_FOR, "for", "TIME", FOR(PROFILE), "how long to record",
	  "how long to record: seconds, or a number with ms, s, m or h (500ms, 90s, 2m)" },
	{ OPTION_FOR, "for", "TIME", FOR(WHY), "how long to watch",
	  "how long to watch: seconds, or a number with ms, s, m or h (500ms, 90s, 2m); default: 60s" },
	{ OPTION_PAGE, "page", "FILE", FOR(WHY), "a page with the verdict and the growth over time",
	  "a page that a browser shows, NAME.html, with the verdict and the growth over time" },
	{ OPTION_LIMIT, "limit", "N", FOR_VIEWS | FOR(WHY), "rows to show",
	  "rows to show, of a tree below each row (default: " LIMIT_ROWS "); 0 for all" },
	{ OPTION_BY, "by", "UNIT", FOR_VIEWS, "what a row is",
	  "what a row is: site (default), function, line, file or module; thread, size, age, kind or allocator: of a process, or where the profile has such labels" },
	{ OPTION_CUMULATIVE, "cumulative", NULL, FOR_VIEWS, "rows of all frames, not only of the innermost ones",
	  "a row for each function (or what --by says) that is anywhere in a stack, with all that its calls have allocated" },
	{ OPTION_TREE, "tree", NULL, FOR_VIEWS, "a call tree from the roots down",
	  "a call tree, from the roots down to what allocated" },
	{ OPTION_BOTTOM_UP, "bottom-up", NULL, FOR_VIEWS, "a call tree from what allocated up to its callers",
	  "a call tree the other way round: from what allocated up to its callers" },
	{ OPTION_ALL_FRAMES, "all-frames", NULL, FOR_VIEWS, "also frames of allocators and containers",
	  "with --by function and the like, and in trees: also the frames of allocators, their wrappers, containers and runtimes" },
	{ OPTION_FOCUS, "focus", "REGEX", FOR_VIEWS, "only stacks with such a frame",
	  "only stacks with a function, file or module that matches; may be repeated" },
	{ OPTION_IGNORE, "ignore", "REGEX", FOR_VIEWS, "no stacks with such a frame",
	  "no stacks with a function, file or module that matches; may be repeated" },
	{ OPTION_SORT, "sort", "ORDER", FOR_VIEWS, "what is ordered by, and shown",
	  "live-bytes (default), live-blocks, alloc-bytes, alloc-blocks (since attach), temporary-blocks, error or name" },
	{ OPTION_OLDER_THAN, "older-than", "TIME", FOR_BLOCKS, "only blocks that are older",
	  "of a process: only blocks that are provably older, as 10m; the profile and the rows are of these alone. What was "
	  "allocated then counts only what is live" },
	{ OPTION_YOUNGER_THAN, "younger-than", "TIME", FOR_BLOCKS, "only blocks that are younger",
	  "likewise: only blocks that are provably younger" },
	{ OPTION_MIN_SIZE, "min-size", "SIZE", FOR_BLOCKS, "only blocks of at least this size",
	  "likewise: only blocks of at least so many bytes, as 4K" },
	{ OPTION_THREAD, "thread", "THREAD", FOR_BLOCKS, "only blocks that this thread has allocated",
	  "likewise: only blocks that the thread of this id, or threads of this name, have allocated" },
	{ OPTION_SINCE_DUMP, "since-dump", "FILE", FOR(DUMP) | FOR(REPORT), "only blocks allocated since that dump",
	  "likewise: only blocks allocated after that profile was taken, in the same attach" },
	{ OPTION_LABELS, "labels", "LABELS", FOR(DUMP) | FOR(PROFILE),
	  "what the profile says of blocks beside their stacks",
	  "what the profile says of blocks beside their stacks: thread, size, age, kind (the function that made them last), "
	  "allocator (the file that it is in), dump; several with commas. Sizes and ages are classes" },
	{ OPTION_SURVIVORS, "survivors", NULL, FOR(DIFF), "blocks of OLD that are live in NEW",
	  "not the difference, but the blocks of OLD that are still live in NEW, to the block; NEW is one of dump --labels dump" },
	{ OPTION_WIDE, "wide", NULL, FOR_VIEWS | FOR(WHY), "whole names, however long",
	  "whole names, however long, also on a terminal" },
	{ OPTION_LEDGER, "ledger", NULL, FOR(DUMP) | FOR_RECORDS | FOR(REPORT),
	  "all counters of what was seen and lost", "all counters of what was seen and lost" },
	{ OPTION_OWN, "own", "REGEX", FOR_VIEWS | FOR(WHY) | FOR(TOP), "functions or modules that are your own code",
	  "functions or modules that are your own code, and so may be a site; may be repeated. See heapsnap-report(1)" },
	{ OPTION_LIBRARY, "library", "REGEX", FOR_VIEWS | FOR(WHY) | FOR(TOP),
	  "functions or modules that are not your own code",
	  "functions or modules that are not your own code, and so no site; may be repeated" },
	{ OPTION_ERRORS, "errors", NULL, FOR(DUMP) | FOR_RECORDS, "label stacks with their standard errors",
	  "label each stack of the profile with its number of samples and its standard error" },
	{ OPTION_STOP, "stop", NULL, FOR(DUMP) | FOR(PROFILE), "stop all threads while the table is copied",
	  "stop all threads while the table is copied; without it they run, and are stopped only where the table cannot be "
	  "copied concurrently; the dump says why" },
	{ OPTION_NO_CACHE, "no-cache", NULL, FOR(DUMP) | FOR_RECORDS | FOR(REPORT),
	  "read symbols anew, keep none on disk",
	  "read the symbols of all files anew; without it what they said is kept in the user's cache folder, and used as long as "
	  "the files are the same" },
	{ OPTION_DEBUGINFOD, "debuginfod", NULL, FOR(DUMP) | FOR_RECORDS | FOR(REPORT),
	  "fetch missing debug information",
	  "fetch debug information that is missing from the servers that DEBUGINFOD_URLS names, which learn what programs these "
	  "are; needs the program debuginfod-find. ^C ends that alone. Nothing else asks the network" },
	{ OPTION_DEBUGINFOD_TIME, "debuginfod-time", "TIME", FOR(DUMP) | FOR_RECORDS | FOR(REPORT),
	  "most time for one file of debuginfod",
	  "most time for one file of --debuginfod (default: " LIMIT_DEBUGINFOD
	  "); when it is over, no other one is asked for" },
	{ OPTION_NAME, "name", "REGEX", FOR_PROCESSES, "processes by name or command line",
	  "in place of PID: processes whose name or command line this matches; with the next three, those for which all hold" },
	{ OPTION_CGROUP, "cgroup", "PATH", FOR_PROCESSES, "processes of a control group",
	  "likewise: processes of this control group or one below it" },
	{ OPTION_CONTAINER, "container", "ID", FOR_PROCESSES, "processes of a container",
	  "likewise: processes of this container; the first 12 digits of its id are enough" },
	{ OPTION_USER, "user", "USER", FOR_PROCESSES, "processes of a user",
	  "likewise: processes of this user, name or number" },
	{ OPTION_ALL, "all", NULL, FOR(ATTACH) | FOR(SET), "all processes that match",
	  "where several match: all of them; without it they are listed, and nothing is done" },
	{ OPTION_ALL, "all", NULL, FOR(DETACH), "all that are attached, or that match",
	  "alone: all processes that are attached; where several match: all of them. Without it these are listed, and nothing is done" },
	{ OPTION_JSON, "json", NULL, FOR_RESULTS, "results as JSON on standard output",
	  "results as one JSON object on standard output; of several processes one each, in a line" },
	{ OPTION_QUIET, "quiet", NULL, FOR_ALL & ~FOR(NONE), "print nothing but errors", "print nothing but errors" },
	{ OPTION_VERBOSE, "verbose", NULL, FOR_ALL & ~FOR(NONE), "print each step", "print each step" },
	{ OPTION_HELP, "help", NULL, FOR_ALL, "show help", "this text" },
	{ OPTION_VERSION, "version", NULL, FOR(NONE), "show the version and the build", "the version and the build" },
};
const size_t option_count = sizeof(option_table) / sizeof(option_table[0]);
_Static_assert(sizeof(option_table) / sizeof(option_table[0]) <= (size_t)OPTIONS_MAX, "what is beyond is not known");

const struct command_description *command_describe(enum command command)
{
	for (size_t i = 0; i < command_count; i++)
		if (command_table[i].command == command)
			return &command_table[i];
	return NULL;
}

const struct option_description *option_describe(int id)
{
	for (size_t i = 0; i < option_count; i++)
		if ((int)option_table[i].id == id)
			return &option_table[i];
	return NULL;
}

int option_is_operand(const struct option_description *option, const struct command_description *command)
{
	const char *operands = command->operands;

	return (option->id == OPTION_OUTPUT && strstr(operands, "-o FILE")) ||
	       (option->id == OPTION_FOR && strstr(operands, "--for"));
}

int option_is_first(size_t index) { return index == 0 || option_table[index - 1].id != option_table[index].id; }

int option_any_is_for(int id, enum command command)
{
	for (size_t i = 0; i < option_count; i++)
		if ((int)option_table[i].id == id && option_is_for(&option_table[i], command))
			return 1;
	return 0;
}
