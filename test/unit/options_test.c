// SPDX-License-Identifier: Apache-2.0
// The command line: every option, every way to get it wrong.
#include "captured.h"
#include "check.h"
#include "cli/options.h"
#include "inject/abi/limits.h"

#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <unistd.h>

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

static char complaint[2000]; // what the last parse said on standard error

// Parses a command line of words between single blanks; '' is an empty word.
static bool parse(const char *line, struct options *ret)
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

static struct options good(const char *line)
{
	struct options options;

	if (!parse(line, &options)) {
		fprintf(stderr, "refused: %s\n%s", line, complaint);
		check_failures++;
		return (struct options){ .pid_text = "", .output = "" };
	}
	CHECK_STRING(complaint, "");
	return options;
}

// Refused, with one line that holds `text`, and one that says how it is used.
static void bad(const char *line, const char *text)
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
	    strncmp(end + 1, "usage: ", 7) != 0) {
		fprintf(stderr, "\"%s\" is refused, but without \"%s\":\n%s", line, text, complaint);
		check_failures++;
	}
}

static void test_commands(void)
{
	struct options options = good("attach 12");

	CHECK_EQUAL(options.command, COMMAND_ATTACH);
	CHECK_STRING(options.pid_text, "12");
	CHECK(!options.output && !options.depth && !options.max_memory && !options.json && !options.quiet &&
	      !options.verbose && !options.help && !options.version);
	options = good("dump 13 -o out.pb.gz");
	CHECK_EQUAL(options.command, COMMAND_DUMP);
	CHECK_STRING(options.pid_text, "13");
	CHECK_STRING(options.output, "out.pb.gz");
	CHECK_EQUAL(good("detach 1").command, COMMAND_DETACH);
	options = good("status");
	CHECK_EQUAL(options.command, COMMAND_STATUS);
	CHECK(!options.pid_text);
	CHECK_STRING(good("status 14").pid_text, "14");
	CHECK_STRING(good("attach -- -5").pid_text, "-5"); // the PID itself is looked at later
	options = good("-v attach 7");                     // a command after options
	CHECK(options.command == COMMAND_ATTACH && options.verbose);
	CHECK_STRING(options.pid_text, "7");
	CHECK(good("--help").help);
	CHECK_EQUAL(good("--help").command, COMMAND_NONE);
	options = good("dump --help"); // nothing else is asked for
	CHECK(options.help && options.command == COMMAND_DUMP);
	CHECK(good("attach -h").help);
	CHECK(good("-V").version);
	CHECK(good("--version").version);
}

static void test_options(void)
{
	struct options options = good("attach --depth 1 12 --max-memory 1M");

	CHECK_EQUAL(options.depth, 1);
	CHECK_EQUAL(options.max_memory, MIB);
	CHECK_STRING(options.pid_text, "12");
	CHECK_EQUAL(good("attach 1 --depth=256").depth, 256);
	CHECK_STRING(good("dump --output=x 1").output, "x");
	CHECK_STRING(good("dump 1 --output x").output, "x");
	CHECK_STRING(good("dump -ox 1").output, "x");
	CHECK_STRING(good("dump 1 -o -").output, "-");
	CHECK_STRING(good("dump 1 -o /dev/stdout").output, "-");
	CHECK_STRING(good("dump 1 -o /proc/self/fd/1").output, "-");
	CHECK_STRING(good("dump 1 -o /dev/fd/10").output, "/dev/fd/10");
	bad("dump 1 -o /dev/fd/1 --json", "both want standard output");
	CHECK_STRING(good("dump 1 -o -- -q").output, "--");
	CHECK(good("status --json").json);
	options = good("detach -qv 1");
	CHECK(options.quiet && options.verbose);
	options = good("detach 1 --quiet --verbose");
	CHECK(options.quiet && options.verbose);
}

static void test_times(void)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} times[] = {
		{ "10s", 10000000000 },  { "2m", 120000000000 },        { "500ms", 500000000 },
		{ "1h", 3600000000000 }, { "7", 7000000000 },           { "1.5", 1500000000 },
		{ ".5s", 500000000 },    { "1000h", 3600000000000000 }, { "0.001ms", 1000 },
	};
	static const char *const wrong[] = { "''",
					     "0",
					     "0s",
					     "-1",
					     "+1",
					     "1x",
					     "1e3",
					     "0x10",
					     ".",
					     "1.2.3s",
					     "1001h",
					     "nan",
					     "inf",
					     "s",
					     "1S",
					     "1sec",
					     "00000000000000000000001",
					     "1s2" };
	char line[100];

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		snprintf(line, sizeof(line), "profile 1 --for %s", times[i].text);
		CHECK_EQUAL(good(line).time_ns, times[i].ns);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		snprintf(line, sizeof(line), "profile 1 --for %s", wrong[i]);
		bad(line, "--for expects a time");
	}
	bad("profile 1", "how long to record is missing");
	bad("dump 1 --for 1s", "--for is only valid with profile and why");
	CHECK_EQUAL(good("why 1").time_ns, 0);
	CHECK_STRING(good("why 1 --page x.html").page, "x.html");
	bad("why 1 --page x.pb.gz", "--page expects a name that ends in .html");
	bad("why 1 --page .html", "--page expects a name that ends in .html");
	bad("profile 1 --for 1s --page x.html", "--page is only valid with why");
}

static void test_sizes(void)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} sizes[] = {
		{ "1048576", MIB },       { "1048577B", MIB + 1 },   { "1024K", MIB },    { "2000k", 2000 * KIB },
		{ "1025KB", 1025 * KIB }, { "1025KiB", 1025 * KIB }, { "1M", MIB },       { "10m", 10 * MIB },
		{ "3MB", 3 * MIB },       { "3MiB", 3 * MIB },       { "1G", GIB },       { "2GB", 2 * GIB },
		{ "2gib", 2 * GIB },      { "120G", 120 * GIB },     { "0000001M", MIB },
	};
	static const char *const wrong[] = {
		"''",
		"0",
		"1",
		"1048575",
		"1023K",
		"121G",
		"120.5G",
		"1e9",
		"M",
		"-1M",
		"+1M",
		"1T",
		"1MM",
		"1M.",
		"0x100000",
		"1MBi",
		"18446744073709551615",
		"18446744073709551616",
		"18446744073709551617M", // more than 64 bits
		"17592186044417M",
		"17592186044416M",
		"18014398509481985K",
		"17179869185G",
		"99999999999999999999999999999G", // too many with the suffix
	};
	char line[200];

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		snprintf(line, sizeof(line), "attach 1 --max-memory %s", sizes[i].text);
		CHECK_EQUAL(good(line).max_memory, sizes[i].bytes);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		snprintf(line, sizeof(line), "attach 1 --max-memory %s", wrong[i]);
		bad(line, "--max-memory expects a size from 1M to 120G");
	}
}

// Longer than 60 lines: a line for each setting.
static void test_settings(void)
{
	static const struct {
		const char *text;
		uint32_t interval;
	} rates[] = {
		{ "4", 2 },        { "1", 8 },        { "0.5", 16 },
		{ ".5", 16 },      { "1e-4", 80000 }, { "0.0001", 80000 },
		{ "1E-4", 80000 }, { "3", 3 },        { "3.7252902984619140625e-9", HS_INTERVAL_MAX },
	};
	static const char *const wrong_rates[] = { "''",     "0",      "0.0",   "-1",    "-1e-4", "+1",   "5",    "4.1",
						   "3.7e-9", "1e-300", "1e300", "nan",   "inf",   "-nan", "many", "1e",
						   "1x",     "0x1p-4", "0x1",   "1.2.3", "1e-4K", "1,5" };
	static const char *const wrong_sizes[] = {
		"0", "-1", "''", "x", "0.5", "1e6", "3G", "2147483649", "18446744073709551617", "4096K4"
	};
	static const char *const wrong_budgets[] = {
		"0", "-1", "''", "x", "nan", "inf", "101", "0.00001", "1e1", "3x"
	};
	struct options options = good("set 12 --sample 4K");
	char line[200];

	CHECK_EQUAL(options.command, COMMAND_SET);
	CHECK(options.has_sampling && options.sampling.mode == HS_SAMPLING_INTERVAL &&
	      options.sampling.interval == 4096);
	CHECK(!options.stop_recording && !options.start_recording && !options.depth);
	options = good("set 12 --exact --depth 3");
	CHECK(options.has_sampling && options.sampling.mode == HS_SAMPLING_EXACT && options.depth == 3);
	options = good("set 12 --sample 1");
	CHECK(options.has_sampling && options.sampling.mode == HS_SAMPLING_EXACT);
	options = good("set 12 --budget 2.5");
	CHECK(options.sampling.mode == HS_SAMPLING_BUDGET && options.sampling.budget == 25000);
	CHECK(good("set 12 --stop-recording").stop_recording);
	CHECK(good("set --start-recording 12").start_recording);
	CHECK(!good("set 12 --depth 5").has_sampling);
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		snprintf(line, sizeof(line), "set 1 --samples-per-word %s", rates[i].text);
		options = good(line);
		CHECK_EQUAL(options.sampling.mode, HS_SAMPLING_WORDS);
		CHECK_EQUAL(options.sampling.interval, rates[i].interval);
		snprintf(line, sizeof(line), "attach 1 --samples-per-word %s", rates[i].text);
		CHECK_EQUAL(good(line).sampling.interval, rates[i].interval);
	}
	for (size_t i = 0; i < sizeof(wrong_rates) / sizeof(wrong_rates[0]); i++) {
		snprintf(line, sizeof(line), "set 1 --samples-per-word %s", wrong_rates[i]);
		bad(line, "--samples-per-word expects a number from 3.8e-9 to 4");
	}
	for (size_t i = 0; i < sizeof(wrong_sizes) / sizeof(wrong_sizes[0]); i++) {
		snprintf(line, sizeof(line), "set 1 --sample %s", wrong_sizes[i]);
		bad(line, "--sample expects a mean interval");
	}
	for (size_t i = 0; i < sizeof(wrong_budgets) / sizeof(wrong_budgets[0]); i++) {
		snprintf(line, sizeof(line), "set 1 --budget %s", wrong_budgets[i]);
		bad(line, "--budget expects a percentage");
	}
	bad("set 1", "what is to be set is missing");
	bad("set 1 --json", "what is to be set is missing");
	bad("set --exact", "the PID is missing");
	bad("set 1 2 --exact", "too many arguments: 2");
	bad("set 1 --exact --sample 1K", "only one of --sample");
	bad("set 1 --sample 1K --sample 1K", "only one of --sample");
	bad("set 1 --samples-per-word 1e-3 --budget 3", "only one of --sample");
	bad("set 1 --exact --stop-recording", "exclude each other");
	bad("set 1 --start-recording --stop-recording", "exclude each other");
	bad("set 1 --exact --max-memory 1M", "--max-memory is only valid with check, attach, profile and why");
	bad("set 1 --depth 0", "--depth expects a number from 1 to 256");
	bad("set 1 --sample", "--sample needs a value");
	bad("set 1 --samples-per-word", "--samples-per-word needs a value");
	bad("attach 1 --stop-recording", "--stop-recording is only valid with set");
	bad("status 1 --exact", "--exact is only valid with attach, set, profile and why");
	bad("detach 1 --samples-per-word 1e-3", "--samples-per-word is only valid with attach, set, profile and why");
}

static void test_views(void)
{
	struct options options = good("diff a b --own '^x' --library y --own z");

	CHECK_EQUAL(options.path_count, 2);
	CHECK_STRING(options.paths[0], "a");
	CHECK_STRING(options.paths[1], "b");
	CHECK_EQUAL(options.own_rule_count, 3);
	CHECK(options.own_rules[0].kind == FRAME_RULE_OWN && options.own_rules[1].kind == FRAME_RULE_LIBRARY);
	CHECK_STRING(options.own_rules[2].regex, "z");
	CHECK_EQUAL(options.limit, 10);
	CHECK_EQUAL(good("report x --limit 3").limit, 3);
	CHECK(good("report x --limit 0").limit > 1000000); // all
	CHECK(good("report x --wide --ledger").wide && good("dump 1 --ledger").ledger);
	CHECK_STRING(good("report -").paths[0], "-");
	bad("report", "the file or PID is missing");
	bad("report a b", "too many arguments: b");
	bad("diff a", "two files are needed");
	bad("diff a b c", "too many arguments: c");
	bad("report x --limit many", "--limit expects a number, got 'many'");
	bad("attach 1 --own x", "--own is only valid with dump, profile, why, report and diff");
	bad("diff a b --ledger", "--ledger is only valid with dump, profile, why and report");
}

// --by and the like: what a row is, and what goes together.
static void test_view_words(void)
{
	static const struct {
		const char *line;
		enum row_unit unit;
	} units[] = {
		{ "report x", ROWS_SITE },
		{ "report x --by site", ROWS_SITE },
		{ "dump 1 --by function", ROWS_FUNCTION },
		{ "diff a b --by line", ROWS_LINE },
		{ "report x --by=file", ROWS_FILE },
		{ "report x --by module --cumulative", ROWS_MODULE },
		{ "report x --cumulative", ROWS_FUNCTION },
		{ "report x --tree", ROWS_FUNCTION },
		{ "report x --tree --by line", ROWS_LINE },
		{ "report x --bottom-up", ROWS_FUNCTION },
		{ "report x --by thread", ROWS_THREAD },
		{ "report x --by size", ROWS_SIZE },
		{ "report x --by age", ROWS_AGE },
	};
	struct options options;

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		options = good(units[i].line);
		CHECK_EQUAL(view_words_unit(&options.view), units[i].unit);
	}
	CHECK_STRING(row_unit_name(ROWS_AGE), "age");
	options = good("report x --focus a --ignore b --focus c --sort alloc-blocks --all-frames");
	CHECK_EQUAL(options.view.filter_count, 3);
	CHECK(options.view.filters[1].kind == STACK_IGNORE && options.view.filters[2].kind == STACK_FOCUS);
	CHECK_STRING(options.view.filters[2].regex, "c");
	CHECK_EQUAL(options.view.order, ORDER_ALLOCATIONS);
	CHECK(options.view.all_frames && !options.view.tree && !options.has_limit);
	CHECK(good("report x --limit 10").has_limit);
	CHECK_STRING(good("report 123").pid_text, "123"); // digits alone are a process
	CHECK_EQUAL(good("report 123").path_count, 0);
	CHECK_STRING(good("report ./123").paths[0], "./123");
	CHECK_STRING(good("report 12a").paths[0], "12a");
	CHECK(!good("report ./123").pid_text);
	CHECK_STRING(good("diff 1 2").paths[1], "2"); // of files alone
	CHECK_STRING(good("diff a b -o c").output, "c");
	bad("report x --by sites", "--by expects site, function, line, file, module, thread, size or age, got 'sites'");
	bad("report x --sort size", "--sort expects live-bytes, live-blocks, alloc-bytes, alloc-blocks, error or name");
	bad("report x --sort cumulative", "--sort expects");
	bad("report x --focus (", "--focus: '(' is no regular expression");
	bad("report x --ignore [", "--ignore: '[' is no regular expression");
	bad("report x --tree --cumulative", "--cumulative is for rows");
	bad("report x --tree --by site", "--tree needs --by function, line, file or module");
	bad("report x --bottom-up --by thread", "--bottom-up needs --by");
	bad("report x --cumulative --by age", "--cumulative needs --by");
	bad("attach 1 --by site", "--by is only valid with dump, profile, report and diff");
	bad("report x -o y", "-o is only valid with dump, profile, why and diff");
	bad("diff a b -o - --json", "both want standard output");
}

static void test_wrong(void)
{
	static const char *const depths[] = { "0",   "257",        "-1",
					      "''",  "x",          "1x",
					      "64K", "4294967297", "18446744073709551617" };
	char line[200];

	for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
		snprintf(line, sizeof(line), "attach 1 --depth %s", depths[i]);
		bad(line, "--depth expects a number from 1 to 256");
	}
	bad("", "a command is missing");
	bad("-q", "a command is missing");
	bad("''", "unknown command ''\n");
	bad("-", "unknown command '-'");
	bad("attache 1", "unknown command 'attache'; did you mean 'attach'?\n");
	bad("-q attache 1", "unknown command 'attache'; did you mean 'attach'?\n");
	bad("attach", "the PID is missing");
	bad("detach", "the PID is missing");
	bad("dump -o x", "the PID is missing");
	bad("attach 1 2", "too many arguments: 2");
	bad("status 1 2", "too many arguments: 2");
	CHECK(!good("dump 1").output);
	bad("dump 1 -o ''", "the output file's name is empty");
	bad("dump 1 -o", "-o needs a value");
	bad("dump 1 --output", "--output needs a value");
	bad("attach 1 --depth", "--depth needs a value");
	bad("attach 1 -o x", "-o is only valid with dump, profile, why and diff");
	bad("status -o x", "-o is only valid with dump, profile, why and diff");
	bad("dump 1 -o x --depth 5", "--depth is only valid with attach, set, profile and why");
	bad("attach 1 --errors", "--errors is only valid with dump, profile and why");
	CHECK(good("dump 1 -o x --errors").errors);
	CHECK(!good("dump 1 -o x").errors);
	bad("detach 1 --max-memory 1M", "--max-memory is only valid with check, attach, profile and why");
	bad("frobnicate 1", "unknown command 'frobnicate'\n");
	bad("dmup 1", "did you mean 'dump'?\n");
	bad("pump 1", "did you mean 'dump'?\n");
	bad("det 1", "did you mean 'detach'?\n"); // although it is nearer to set
	bad("st", "did you mean 'status'?\n");
	bad("d 1", "unknown command 'd'\n"); // dump or detach
	bad("attach 1 --allocator x", "--allocator expects NAME=KIND, got 'x'");
	bad("attach 1 --allocator =malloc", "--allocator expects NAME=KIND, got '=malloc'");
	bad("attach 1 --allocator x=y", "--allocator: y is neither a known allocation function nor a layout");
	bad("dump 1 -o - --json", "both want standard output");
	bad("attach 1 -x", "unknown option: -x");
	bad("attach 1 -xq", "unknown option: -x");
	bad("attach 1 -qx", "unknown option: -x");
	bad("attach 1 --frobnicate", "unknown option: --frobnicate");
	bad("attach --json -xq 1", "unknown option: -x");
	bad("attach 1 --json=yes", "unknown option: --json=yes");
	bad("attach 1 --quiet=yes", "unknown option: --quiet=yes");
	bad("attach 1 %s%n", "too many arguments: %s%n"); // never taken for a format
}

// A program that asks for JSON gets the error as such, wherever --json stands.
static void test_json(void)
{
	static const struct {
		const char *line, *output; // "" = nothing
	} cases[] = {
		{ "attach 1 --nix --json", "{\"error\":{\"code\":\"usage\",\"message\":\"unknown option: --nix\"}}\n" },
		{ "dump --js", "{\"error\":{\"code\":\"usage\",\"message\":\"the PID is missing\"}}\n" },
		{ "nix --json", "{\"error\":{\"code\":\"usage\",\"message\":\"unknown command 'nix'\"}}\n" },
		{ "attach 1 --nix", "" },
		{ "attach 1 --nix -- --json", "" },
		{ "attach 1 --json", "" },
	};
	struct options options;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		capture_begin();
		parse(cases[i].line, &options);
		capture_end();
		CHECK_STRING(captured_output(), cases[i].output);
	}
}

int main(void)
{
	test_commands();
	test_options();
	test_times();
	test_sizes();
	test_settings();
	test_views();
	test_view_words();
	test_wrong();
	test_json();
	return CHECK_RESULT();
}
