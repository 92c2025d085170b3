// SPDX-License-Identifier: Apache-2.0
// The command line: every option, every way to get it wrong.
#include "captured.h"
#include "inject/abi/limits.h"
#include "parsed_options.h"

#include <signal.h>

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

static void test_commands(void)
{
	struct options options = good("attach 12");

	CHECK_EQUAL(options.command, COMMAND_ATTACH);
	CHECK_STRING(options.pids[0], "12");
	CHECK(!options.output && !options.depth && !options.max_memory && !options.json && !options.quiet &&
	      !options.verbose && !options.help && !options.version);
	options = good("dump 13 -o out.pb.gz");
	CHECK_EQUAL(options.command, COMMAND_DUMP);
	CHECK_STRING(options.pids[0], "13");
	CHECK_STRING(options.output, "out.pb.gz");
	CHECK_EQUAL(good("detach 1").command, COMMAND_DETACH);
	options = good("status");
	CHECK_EQUAL(options.command, COMMAND_STATUS);
	CHECK_EQUAL(options.pid_count, 0);
	CHECK_STRING(good("status 14").pids[0], "14");
	CHECK_STRING(good("attach -- -5").pids[0], "-5"); // the PID itself is looked at later
	options = good("-v attach 7");                    // a command after options
	CHECK(options.command == COMMAND_ATTACH && options.verbose);
	CHECK_STRING(options.pids[0], "7");
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
	CHECK_STRING(options.pids[0], "12");
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
	CHECK_EQUAL(good("top 1").every_ns, 0);
	CHECK_EQUAL(good("top 1 --every 500ms --exact").every_ns, 500000000);
	CHECK(good("top --name redis").command == COMMAND_TOP);
	bad("top 1 --every 0", "--every expects a time");
	bad("top", "PID is missing");
	bad("top 1 --json", "--json is only valid with");
	bad("top 1 -o x", "-o is only valid with");
	bad("attach 1 --every 1s", "--every is only valid with run and top");
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
	static const char *const wrong_budgets[] = { "0",   "-1", "''", "x",   "nan", "inf", "101", "0.00001",
						     "1e1", "3x", "%",  "3%%", "3%x", "0%",  "101%" };
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
	CHECK_EQUAL(good("set 12 --budget 3%").sampling.budget, 30000);
	CHECK_EQUAL(good("attach 12 --budget=.5%").sampling.budget, 5000);
	CHECK_EQUAL(good("set 12 --budget 100%").sampling.budget, 1000000);
	CHECK_EQUAL(good("set 12 --sample 64KiB").sampling.interval, 65536);
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
	bad("set 1 --exact --sample 1K", "only one of --sample");
	bad("set 1 --sample 1K --sample 1K", "only one of --sample");
	bad("set 1 --samples-per-word 1e-3 --budget 3", "only one of --sample");
	bad("set 1 --exact --stop-recording", "cannot be combined");
	bad("set 1 --start-recording --stop-recording", "cannot be combined");
	bad("set 1 --exact --max-memory 1M",
	    "--max-memory is only valid with check, attach, run, profile, why and top");
	bad("set 1 --depth 0", "--depth expects a number from 1 to 256");
	bad("set 1 --sample", "--sample needs a value");
	bad("set 1 --samples-per-word", "--samples-per-word needs a value");
	bad("attach 1 --stop-recording", "--stop-recording is only valid with set");
	bad("status 1 --exact", "--exact is only valid with attach, run, set, profile, why and top");
	bad("detach 1 --samples-per-word 1e-3",
	    "--samples-per-word is only valid with attach, run, set, profile, why and top");
}

static void test_at_peak(void)
{
	CHECK_STRING(good("run --at-peak x -- a").at_peak, "x");
	CHECK_STRING(good("profile 1 --for 1s --at-peak x --format json").at_peak, "x");
	bad("run --at-peak x --children -- a", "--at-peak is of one process");
	bad("run --at-peak x --at-exit x -- a", "--at-peak needs another file");
	bad("run --at-peak x -o x -- a", "--at-peak needs another file");
	bad("profile 1 --for 1s -o x --at-peak x", "--at-peak needs another file");
	bad("run --at-peak - -- a", "goes to a file");
	bad("run --at-peak '' -- a", "name is empty");
	bad("profile 1 --for 1s --at-peak x/", "only valid with run");
	bad("dump 1 --at-peak x", "--at-peak");
}

static void test_run(void)
{
	static const struct {
		const char *text;
		int number;
	} signals[] = { { "USR2", SIGUSR2 },
			{ "SIGUSR2", SIGUSR2 },
			{ "sigusr1", SIGUSR1 },
			{ "12", SIGUSR2 },
			{ "HUP", SIGHUP } };
	static const struct {
		const char *text;
		uint64_t ns;
	} times[] = { { "60s", 60000000000 }, { "5m", 300000000000 }, { "1.5", 1500000000 }, { "20ms", 20000000 } };
	struct options options = good("run --at-exit x --exact -- program -o y --json --");
	char line[100];

	CHECK_EQUAL(options.command, COMMAND_RUN);
	CHECK_STRING(options.at_exit, "x");
	CHECK(!options.output && !options.json && options.sampling.mode == HS_SAMPLING_EXACT);
	CHECK_STRING(options.command_words[0], "program");
	CHECK_STRING(options.command_words[4], "--");
	CHECK(!options.command_words[5]);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		snprintf(line, sizeof(line), "run -o x --on %s -- a", signals[i].text);
		CHECK_EQUAL(good(line).on_signal, signals[i].number);
	}
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		snprintf(line, sizeof(line), "run -o x --every %s -- a", times[i].text);
		CHECK_EQUAL(good(line).every_ns, times[i].ns);
	}
	bad("run", "the command is missing");
	bad("run --", "the command is missing");
	bad("run --every 1s -- a", "need -o FILE");
	bad("run --on USR2 -- a", "need -o FILE");
	bad("run -o x --at-exit y -- a", "-o beside --at-exit needs --every or --on");
	bad("run -o - -- a", "standard output is the command's");
	bad("run -o x --every 0s -- a", "expects a time");
	bad("run -o x --every -1 -- a", "expects a time");
	bad("run -o x --on KILL -- a", "expects a signal");
	bad("run -o x --on 9 -- a", "expects a signal");
	bad("run -o x --on '' -- a", "expects a signal");
	bad("run -o - --every 1s -- a", "standard output is the command's");
	bad("run --at-exit - -- a", "standard output is the command's");
	bad("run --at-exit /dev/stdout -- a", "standard output is the command's");
	bad("run --at-exit '' -- a", "name is empty");
	bad("profile 1 --for 1s -o x/", "-o DIR/ is only valid with dump and run; add a file name to x/\n");
	bad("run --format json -- a", "--format needs -o, --at-exit or --at-peak");
	CHECK_EQUAL(good("run --at-exit x --format json -- a").format, PROFILE_JSON);
	options = good("run -o x -- a");
	CHECK(!options.output);
	CHECK_STRING(options.at_exit, "x");
	options = good("run -o x --every 1s -- a");
	CHECK(!options.at_exit);
	CHECK_STRING(options.output, "x");
	bad("run --json -- a", "standard output is the command's, and has no room for --json; --at-exit FILE.json");
	bad("run --at-exit x.json --json -- a", "has no room for --json");
	bad("attach 1 --anyway", "--anyway is only valid with run");
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
	CHECK(!good("dump 1").output);
	bad("dump 1 -o ''", "the output file's name is empty");
	bad("dump 1 -o", "-o needs a value");
	bad("dump 1 --output", "--output needs a value");
	bad("attach 1 --depth", "--depth needs a value");
	bad("attach 1 -o x", "-o is only valid with run, dump, profile, why, report and diff");
	bad("status -o x", "-o is only valid with run, dump, profile, why, report and diff");
	bad("dump 1 -o x --depth 5", "--depth is only valid with attach, run, set, profile, why and top");
	bad("attach 1 --errors", "--errors is only valid with run, dump, profile and why");
	CHECK(good("dump 1 -o x --errors").errors);
	CHECK(!good("dump 1 -o x").errors);
	bad("detach 1 --max-memory 1M", "--max-memory is only valid with check, attach, run, profile, why and top");
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
	bad("attach 1 --json=yes", "--json=yes: this option takes no value");
	bad("attach 1 --quiet=yes", "--quiet=yes: this option takes no value");
	bad("report 1 %s%n", "too many arguments: %s%n"); // never taken for a format
}

static void test_processes(void)
{
	struct options options = good("dump 1 -q 2 3");

	CHECK_EQUAL(options.pid_count, 3);
	CHECK_STRING(options.pids[0], "1");
	CHECK_STRING(options.pids[2], "3");
	CHECK_STRING(options.pids[0], "1");
	options = good("attach --name ^a --user b --cgroup /c --container 0123456789ab --all");
	CHECK(options.pid_count == 0 && !options.pids[0] && options.all);
	CHECK_STRING(options.filter.name, "^a");
	CHECK_STRING(options.filter.user, "b");
	CHECK_STRING(options.filter.cgroup, "/c");
	CHECK_STRING(options.filter.container, "0123456789ab");
	CHECK_EQUAL(good("status").pid_count, 0);
	CHECK(good("status --name x").filter.name && good("check --user 0").filter.user);
	bad("attach 1 --name a", "PID 1 and --name, --cgroup, --container, --user cannot be combined");
	bad("status 7 --user b", "cannot be combined");
	bad("attach --all", "--all needs --name, --cgroup, --container or --user");
	bad("set --all --exact", "--all needs");
	bad("attach 1 --all", "PID 1 and --all cannot be combined: give the one or the other");
	bad("detach 7 8 --all", "PID 7 and --all cannot be combined");
	bad("detach 7 --name x --all", "PID 7 and --name, --cgroup, --container, --user cannot be combined");
	bad("detach", "the PID is missing");
	options = good("detach --all");
	CHECK(options.all && options.pid_count == 0);
	bad("dump --name x --all", "--all is only valid with attach, set and detach\n");
	bad("report x --name y", "file x and --name, --cgroup, --container, --user cannot be combined\n");
	bad("attach --name a --name b", "--name can be given once");
	bad("attach --user a --user b", "--user can be given once");
	bad("attach --name (", "--name expects a regular expression, got '('");
	bad("attach --name ''", "--name expects a regular expression");
	bad("attach --container web", "--container expects the id of a container");
	bad("attach --cgroup ''", "--cgroup expects the path");
	bad("dump --user ''", "--user expects");
	bad("detach", "the PID is missing, or --name, --cgroup, --container or --user");
}

// What was perhaps meant.
static void test_hints(void)
{
	bad("attach 1 --exat", "unknown option: --exat; did you mean --exact?\n");
	bad("attach 1 --sampel=4K", "unknown option: --sampel=4K; did you mean --sample?\n");
	bad("--verson", "unknown option: --verson; did you mean --version?\n");
	bad("attach 1 --ledgr", "unknown option: --ledgr\n"); // of dump
	bad("dump 1 --st", "unknown option: --st; did you mean --stop?\n");
	bad("set 1 --st", "--st may be --stop-recording, --start-recording\n");
	bad("attach 1 --%s%n%s%n", "unknown option: --%s%n%s%n\n");
	bad("attach 1 --=3", "unknown option: --=3\n");
	bad("attach 1 -exact", "unknown option: -e; did you mean --exact?\n");
	bad("dump 1 -json", "unknown option: -j; did you mean --json?\n");
	bad("dump 1 -jsn", "unknown option: -j\n");
	bad("hlep", "unknown command 'hlep'; did you mean 'help'?\n");
	bad("attach 1 --012345678901234567890123456789012345678901234567890123456789", "unknown option: --0123456789");
}

static void test_help(void)
{
	struct options options = good("help");

	CHECK(options.help && options.command == COMMAND_NONE);
	options = good("help dump");
	CHECK(options.help && options.command == COMMAND_DUMP);
	options = good("-q help dump");
	CHECK(options.help && options.command == COMMAND_DUMP);
	options = good("help help");
	CHECK(options.help && options.command == COMMAND_NONE);
	options = good("help --json set");
	CHECK(options.help && options.command == COMMAND_SET);
	CHECK(good("help --help").help);
	bad("help dmup", "unknown command 'dmup'; did you mean 'dump'?\n");
	bad("help dump 1", "too many arguments: 1");
	bad("help 1", "unknown command '1'\n");
}

// A program that asks for JSON gets the error as such, wherever --json stands.
static void test_json(void)
{
	static const struct {
		const char *line, *output; // "" = nothing
	} cases[] = {
		{ "attach 1 --nix --json", "{\"error\":{\"code\":\"usage\",\"message\":\"unknown option: --nix\"}}\n" },
		{ "dump --js",
		  "{\"error\":{\"code\":\"usage\",\"message\":\"the PID is missing, or --name, --cgroup, --container or "
		  "--user\"}}\n" },
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
	test_run();
	test_at_peak();
	test_wrong();
	test_processes();
	test_hints();
	test_help();
	test_json();
	return CHECK_RESULT();
}
