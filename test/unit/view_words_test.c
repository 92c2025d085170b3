// SPDX-License-Identifier: Apache-2.0
// The command line of commands that show a profile.
#include "parsed_options.h"

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
	bad("attach 1 --own x", "--own is only valid with run, dump, profile, why, top, report and diff");
	bad("diff a b --ledger", "--ledger is only valid with run, dump, profile, why and report");
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
		{ "report x --by kind", ROWS_KIND },
		{ "report x --by allocator", ROWS_ALLOCATOR },
	};
	struct options options;

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		options = good(units[i].line);
		CHECK_EQUAL(view_words_unit(&options.view), units[i].unit);
	}
	CHECK_STRING(row_unit_name(ROWS_ALLOCATOR), "allocator");
	options = good("report x --focus a --ignore b --focus c --sort alloc-blocks --all-frames");
	CHECK_EQUAL(options.view.filter_count, 3);
	CHECK(options.view.filters[1].kind == STACK_IGNORE && options.view.filters[2].kind == STACK_FOCUS);
	CHECK_STRING(options.view.filters[2].regex, "c");
	CHECK_EQUAL(options.view.order, ORDER_ALLOCATIONS);
	CHECK(options.view.all_frames && !options.view.tree && !options.has_limit);
	CHECK(good("report x --limit 10").has_limit);
	CHECK_STRING(good("report 123").pids[0], "123"); // digits alone are a process
	CHECK_EQUAL(good("report 123").path_count, 0);
	CHECK_STRING(good("report 123").pids[0], "123");
	CHECK_EQUAL(good("report 123").pid_count, 1);
	bad("report 123 124", "too many arguments: 124\n");
	CHECK_STRING(good("report ./123").paths[0], "./123");
	CHECK_STRING(good("report 12a").paths[0], "12a");
	CHECK_EQUAL(good("report ./123").pid_count, 0);
	CHECK_STRING(good("diff 1 2").paths[1], "2"); // of files alone
	CHECK_STRING(good("diff a b -o c").output, "c");
	bad("report x --by sites",
	    "--by expects site, function, line, file, module, thread, size, age, kind or allocator, got 'sites'");
	bad("report x --sort size", "alloc-bytes, alloc-blocks, temporary-blocks, error or name");
	bad("report x --sort cumulative", "--sort expects");
	bad("report x --focus (", "--focus: '(' is not a regular expression");
	bad("report x --ignore [", "--ignore: '[' is not a regular expression");
	bad("report x --tree --cumulative", "--cumulative is for rows");
	bad("report x --tree --by site", "--tree needs --by function, line, file or module");
	bad("report x --bottom-up --by thread", "--bottom-up needs --by");
	bad("report x --cumulative --by age", "--cumulative needs --by");
	bad("attach 1 --by site", "--by is only valid with run, dump, profile, report and diff");
	CHECK_STRING(good("report x -o y").output, "y");
	bad("report x -o y.svg", "no format of heapsnap ends as y.svg does: .pb.gz");
	bad("diff a b -o - --json", "both want standard output");
	bad("diff a b -o c/", "-o DIR/ is only valid with dump and run; add a file name to c/\n");
	CHECK_STRING(good("dump 1 -o c/ --format json").output, "c/");
}

int main(void)
{
	test_views();
	test_view_words();
	return CHECK_RESULT();
}
