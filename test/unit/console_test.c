// SPDX-License-Identifier: Apache-2.0
// What people see (cli/console.h), and what they do not with -q.
#include "captured.h"
#include "check.h"

#include "base/log.h"
#include "cli/console.h"

static const struct options ways[] = {
	{ .quiet = false }, { .quiet = true }, { .verbose = true }, { .quiet = true, .verbose = true }
};

static void say_all(const struct options *options)
{
	capture_begin();
	console_init(options);
	console_print(options, "a result of %d\n", 1);
	hs_warn("beware of %d", 2);
	hs_verbose("a detail of %d", 3);
	hs_progress("work", 1, 2); // no terminal: it is not shown
	console_complain("wrong: %d\n", 4);
	capture_end();
}

static void test_quiet(void)
{
	static const char *const expected[] = {
		"heapsnap: warning: beware of 2\nheapsnap: wrong: 4\n",
		"heapsnap: wrong: 4\n",
		"heapsnap: warning: beware of 2\nheapsnap: a detail of 3\nheapsnap: wrong: 4\n",
		"heapsnap: wrong: 4\n",
	};

	for (unsigned i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		say_all(&ways[i]);
		CHECK_STRING(captured_errors(), expected[i]);
		CHECK_STRING(captured_output(), ways[i].quiet ? "" : "a result of 1\n");
	}
}

// Where standard output is the profile's, or a command's that is run, results stand beside it.
static void test_streams(void)
{
	const struct options streams[] = { { .output = "-" }, { .command = COMMAND_RUN, .output = "out" } },
			     file = { .output = "out" };
	int saved;

	for (unsigned i = 0; i < 2; i++) {
		say_all(&streams[i]);
		CHECK_STRING(captured_output(), "");
		CHECK_STRING(captured_errors(), "a result of 1\nheapsnap: warning: beware of 2\nheapsnap: wrong: 4\n");
	}
	say_all(&file);
	CHECK_STRING(captured_output(), "a result of 1\n");

	// both in one file: in the order in which they were said
	fflush(NULL);
	saved = dup(STDERR_FILENO);
	capture_begin();
	CHECK(dup2(STDOUT_FILENO, STDERR_FILENO) == STDERR_FILENO);
	console_init(&file);
	console_print(&file, "first\n");
	console_complain("second\n");
	console_print(&file, "third\n");
	CHECK(console_is_written());
	capture_end();
	dup2(saved, STDERR_FILENO);
	close(saved);
	CHECK_STRING(captured_output(), "first\nheapsnap: second\nthird\n");
}

// Names from the target may stand in every message: they do not make lines, nor move the cursor.
static void test_printable(void)
{
	const struct options options = { .quiet = false };

	capture_begin();
	console_init(&options);
	console_print(&options, "a%sb\n", "\n\033[2J");
	console_complain("c%sd", "\r");
	hs_warn("e%sf", "\x9b");
	console_print(&options, "no end");
	capture_end();
	for (int i = 0; i < 2; i++)
		CHECK(!strpbrk(i ? captured_errors() : captured_output(), "\033\r\x9b"));
	CHECK(captured_output()[0] == 'a' && strstr(captured_output(), "b\nno end\n"));
	CHECK(strncmp(captured_errors(), "heapsnap: c", 11) == 0 &&
	      strstr(captured_errors(), "d\nheapsnap: warning: e") && strstr(captured_errors(), "f\n"));
}

// With --json the object is the only result, and has the warnings; where a command fails, they are told as ever.
static void test_json(void)
{
	const struct options options = { .json = true };
	struct json json;

	capture_begin();
	console_init(&options);
	console_print(&options, "a result of %d\n", 1);
	hs_warn("beware of %s", "\"\033");
	hs_warn("and of %d", 3);
	json_begin(&json, stdout);
	json_number(&json, "one", 1);
	CHECK(console_end_json(&json));
	capture_end();
	CHECK_STRING(captured_errors(), "");
	CHECK_STRING(captured_output(), "{\"one\":1,\"warnings\":[\"beware of \\\"\\u001b\",\"and of 3\"]}\n");

	capture_begin();
	hs_warn("beware");
	CHECK_EQUAL(console_fail(&options, hs_error_create(HS_ERROR_GONE, "it has ended")), EXIT_REFUSED);
	json_begin(&json, stdout);
	CHECK(console_end_json(&json)); // each is told once
	capture_end();
	CHECK_STRING(captured_errors(), "heapsnap: warning: beware\nheapsnap: it has ended\n");
	CHECK(strstr(captured_output(), "}}\n{\"warnings\":[]}\n"));

	capture_begin();
	for (int i = 0; i < 102; i++) // what there is no room for is not lost
		hs_warn("%d", i);
	json_begin(&json, stdout);
	CHECK(console_end_json(&json));
	capture_end();
	CHECK_STRING(captured_errors(), "heapsnap: warning: 100\nheapsnap: warning: 101\n");
	CHECK(strstr(captured_output(), ",\"99\"]}"));
}

// Of several processes each object has its own warnings, and the first one those of all.
static void test_json_of_several(void)
{
	const struct options options = { .json = true };
	struct json json;

	capture_begin();
	console_init(&options);
	hs_warn("of all");
	console_begin_process(&options, 1, "a", true);
	hs_warn("of 1");
	json_begin(&json, stdout);
	CHECK(console_end_json(&json));
	console_begin_process(&options, 2, "b", true);
	hs_warn("of 2, which has no object");
	console_begin_process(&options, 3, "", true);
	hs_warn("of 3");
	json_begin(&json, stdout);
	CHECK(console_end_json(&json));
	console_begin_process(&options, 0, "", false);
	capture_end();
	CHECK_STRING(captured_output(), "{\"warnings\":[\"of all\",\"of 1\"]}\n{\"warnings\":[\"of 3\"]}\n");
	CHECK_STRING(captured_errors(), "heapsnap: warning: of 2, which has no object\n");
}

static void test_headings(void)
{
	const struct options options = { .quiet = false };

	capture_begin();
	console_init(&options);
	console_begin_process(&options, 12, "a\nb", true);
	console_begin_process(&options, 13, "", true);
	console_begin_process(&options, 0, "c", false);
	console_complain("several\n");
	console_explain(&options, "  %s\n", "\r1");
	capture_end();
	CHECK_STRING(captured_output(), "process 12 (a\\x0ab):\nprocess 13:\n");
	CHECK_STRING(captured_errors(), "heapsnap: several\n  \\x0d1\n");
}

// A failure is told in every way, and by the exit status; for programs with a word for its kind.
static void test_failures(void)
{
	static const struct {
		enum hs_error_code code;
		const char *word;
	} cases[] = {
		{ HS_ERROR_SYSTEM, "system" },     { HS_ERROR_NO_MEMORY, "no_memory" },
		{ HS_ERROR_REFUSED, "refused" },   { HS_ERROR_GONE, "gone" },
		{ HS_ERROR_TIMEOUT, "timeout" },   { HS_ERROR_INTERRUPTED, "interrupted" },
		{ HS_ERROR_BAD_DATA, "bad_data" }, { HS_ERROR_NOT_FOUND, "not_found" },
		{ HS_ERROR_REMOTE, "remote" },     { HS_ERROR_FAULT, "fault" },
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (unsigned way = 0; way < 4; way++) {
			const struct options options = { .quiet = way & 1, .json = way & 2 };
			enum exit_status status;
			char word[40];

			snprintf(word, sizeof(word), "\"code\":\"%s\"", cases[i].word);
			capture_begin();
			console_init(&options);
			status = console_fail(&options, hs_error_create(cases[i].code, "it \"is\" so\t%d", 7));
			capture_end();
			CHECK_EQUAL(status, EXIT_REFUSED);
			CHECK_EQUAL(strncmp(captured_errors(), "heapsnap: it \"is\" so", 20), 0);
			CHECK(strstr(captured_errors(), "7\n") && strlen(strchr(captured_errors(), '\n')) == 1);
			if (!options.json) {
				CHECK_STRING(captured_output(), "");
				continue;
			}
			// blanks between words are no matter
			for (char *from = captured.text[0], *to = from; (*to = *from); from++)
				to += *from != ' ' && *from != '\n';
			CHECK(strstr(captured_output(), "\"error\":{"));
			CHECK(strstr(captured_output(), word));
			CHECK(strstr(captured_output(), "\"message\":\"it\\\"is\\\"so"));
		}
	}
	capture_begin();
	CHECK_EQUAL(console_fail(&ways[1], &hs_error_no_memory), EXIT_REFUSED); // what nobody frees
	capture_end();
	CHECK(strlen(captured_errors()) > strlen("heapsnap: \n"));
}

static void test_numbers(void)
{
	static const struct {
		uint64_t value;
		const char *bytes, *time; // NULL = not asked
	} cases[] = {
		{ 0, "0 B", "0 us" },
		{ 1023, "1023 B", "1 us" },
		{ 1024, "1.0 KiB", NULL },
		{ 1536, "1.5 KiB", "2 us" },
		{ 999000, NULL, "999 us" },
		{ 1000000, "976.6 KiB", "1.0 ms" },
		{ UINT64_C(1) << 20, "1.0 MiB", NULL },
		{ 12340000, NULL, "12.3 ms" },
		{ 1000000000, NULL, "1.00 s" },
		{ UINT64_C(3) << 29, "1.5 GiB", "1.61 s" },
		{ UINT64_C(1) << 40, "1.0 TiB", NULL },
		{ UINT64_C(5) << 50, "5.0 PiB", NULL },
		{ UINT64_MAX, "16.0 EiB", NULL },
	};
	char buffer[32];

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (cases[i].bytes)
			CHECK_STRING(number_bytes(cases[i].value, buffer), cases[i].bytes);
		if (cases[i].time)
			CHECK_STRING(console_time(cases[i].value, buffer), cases[i].time);
	}
}

static void test_count(void)
{
	char buffer[COUNT_SIZE];

	CHECK_STRING(console_count(0, "thread", buffer), "0 threads");
	CHECK_STRING(console_count(1, "thread", buffer), "1 thread");
	CHECK_STRING(console_count(2, "thread", buffer), "2 threads");
}

int main(void)
{
	test_count();
	test_quiet();
	test_streams();
	test_printable();
	test_json();
	test_json_of_several();
	test_headings();
	test_failures();
	test_numbers();
	return CHECK_RESULT();
}
