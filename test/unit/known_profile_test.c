// SPDX-License-Identifier: Apache-2.0
// What a new profile may replace, and what must stay.
#include "proto/known_profile.h"

#include "output_folder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#define TEXT(text) (text), sizeof(text) - 1

static const struct {
	const char *name, *bytes;
	size_t size;
	bool is_known, is_known_in_gzip;
} cases[] = {
	{ "nothing", TEXT(""), true, false },
	{ "heapsnap's", TEXT("\x0a\x04\x08\x01\x10\x02\x0a\x04\x08\x03\x10\x04"), true, true },
	{ "Go's", TEXT("\x5a\x04\x08\x01\x10\x02\x60\x80\x80\x20\x0a\x04\x08\x03\x10\x04"), true, true },
	{ "unit first", TEXT("\x0a\x04\x10\x01\x08\x02"), true, true },
	{ "large numbers", TEXT("\x0a\x06\x08\xff\x7f\x10\x80\x01"), true, true },
	{ "times first", TEXT("\x48\x01\x50\x02\x0a\x04\x08\x01\x10\x02"), true, true },
	{ "cut in its first field", TEXT("\x0a\x04\x08\x01"), false, false },
	{ "one byte", TEXT("\x0a"), false, false },
	{ "another field in it", TEXT("\x0a\x04\x18\x01\x10\x02"), false, false },
	{ "a long field",
	  TEXT("\x0a\x40\x08\x01\x10\x02\x08\x01\x10\x02\x08\x01\x10\x02\x08\x01\x10\x02\x08\x01"
	       "\x10\x02\x08\x01\x10\x02\x08\x01\x10\x02\x08\x01\x10\x02\x08\x01\x10\x02\x08\x01"
	       "\x10\x02\x08\x01\x10\x02\x08\x01\x10\x02\x08\x01\x10\x02\x08\x01\x10\x02\x08\x01"),
	  false, false },
	{ "numbers without end", TEXT("\x48\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), false, false },
	{ "numbers only",
	  TEXT("\x48\x01\x48\x01\x48\x01\x48\x01\x48\x01\x48\x01\x48\x01\x48\x01\x48\x01"
	       "\x0a\x04\x08\x01\x10\x02"),
	  false, false },
	{ "samples first", TEXT("\x12\x04\x08\x01\x10\x02"), false, false },
	{ "text", TEXT("dear diary"), false, false },
	{ "text with an empty line", TEXT("\n\nmain;f 3\n"), false, false },
	{ "a script", TEXT("#!/bin/sh\n"), false, false },
	{ "a program", TEXT("\177ELF\2\1\1\0\0\0\0"), false, false },
	{ "zeros", TEXT("\0\0\0\0\0\0\0\0"), false, false },
	{ "a page", TEXT("<!DOCTYPE html>\n<html lang=\"en\">\n<title>heapsnap</title>\n"), true, false },
	{ "another page", TEXT("<!DOCTYPE html>\n<html lang=\"en\">\n<title>heap</title>\n"), false, false },
	{ "a page about it", TEXT("<html><title>heapsnap</title>"), false, false },
	{ "JSON", TEXT("{\"a\":1}"), false, false },
	{ "heapsnap's JSON", TEXT("{\"heapsnap\":\"0.9\",\"program\":\"a\"}\n"), true, false },
	{ "JSON about it", TEXT("{\"name\":\"heapsnap\",\"heapsnap\":\"0.9\"}\n"), false, false },
	{ "JSON with its name in it", TEXT("{\"heapsnap\":{}}\n"), false, false },
	{ "speedscope",
	  TEXT("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":\"heapsnap 0.9\"}"),
	  true, false },
	{ "a report as text", TEXT("heapsnap report of a (PID 1), taken 2026-01-01T00:00:00Z\n"), true, false },
	{ "a text of another's", TEXT("heapsnap reports of mine\n"), false, false },
	{ "another's speedscope",
	  TEXT("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":\"py-spy\"}"), false,
	  false },
	{ "collapsed", TEXT("_start;main;put(int, char) 14901\n[stack unknown] 3\n"), true, false },
	{ "collapsed, cut", TEXT("main;put 14901\nmain;ge"), true, false },
	{ "collapsed, of a first line that is cut", TEXT("main;put 14901"), false, false },
	{ "collapsed, of one frame", TEXT("main 14901\n"), false, false },
	{ "a list", TEXT("bread 2\nmilk 1\n"), false, false },
	{ "a list behind a stack", TEXT("main;f 3\nbread: two\n"), false, false },
	{ "a table", TEXT("name;age\na;3\n"), false, false },
	{ "a table with blanks", TEXT("bread; 2\nmilk; 1\n"), false, false },
	{ "a table with holes", TEXT("bread;; 2\n"), false, false },
	{ "a table with tabs", TEXT("a;b\tc 2\n"), false, false },
	{ "a number with zeros", TEXT("a;b 007\n"), false, false },
	{ "a number of too many digits", TEXT("a;b 12345678901234567890\n"), false, false },
	{ "no number", TEXT("a;b \n"), false, false },
	{ "a sentence", TEXT("stop; go 3 times\n"), false, false },
	{ "no first name", TEXT(";a 3\n"), false, false },
	{ "no last name", TEXT("a; 3\n"), false, false },
	{ "a number alone", TEXT(" 3\n"), false, false },
	{ "the beginning of gzip alone", TEXT("\x1f\x8b"), false, false },
	{ "damaged gzip", TEXT("\x1f\x8b\x08\0\0\0\0\0\0\3\xff\xff\xff\xff\xff\xff"), false, false },
};

static bool is_known_in_gzip(const char *bytes, size_t size)
{
	uint8_t packed[1024];
	z_stream stream = { .next_in = (Bytef *)(uintptr_t)bytes,
			    .avail_in = (uInt)size,
			    .next_out = packed,
			    .avail_out = sizeof(packed) };
	bool is_known;

	CHECK(deflateInit2(&stream, 9, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
	CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END);
	is_known = profile_is_known(packed, stream.total_out);
	deflateEnd(&stream);
	return is_known;
}

static void test_bytes(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *copy = malloc(cases[i].size ? cases[i].size : 1); // so that a byte too many is noticed

		memcpy(copy, cases[i].bytes, cases[i].size);
		if (profile_is_known(copy, cases[i].size) != cases[i].is_known ||
		    is_known_in_gzip(copy, cases[i].size) != cases[i].is_known_in_gzip)
			fprintf(stderr, "%s\n", cases[i].name);
		CHECK_EQUAL(profile_is_known(copy, cases[i].size), cases[i].is_known);
		CHECK_EQUAL(is_known_in_gzip(copy, cases[i].size), cases[i].is_known_in_gzip);
		free(copy);
	}
}

static void test_other_formats(void)
{
	static const struct {
		const char *bytes, *expected; // NULL = not known
	} others[] = {
		{ "{\"heapsnap\":\"0.9\",\"program\":\"a\"}\n", "a JSON profile of heapsnap's" },
		{ "{\"command\":\"report\",\"file\":\"a\"}\n", "what heapsnap --json prints" },
		{ "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":\"heapsnap 0.9\"}",
		  "a speedscope profile" },
		{ "{\"snapshot\":{}}", "JSON" },
		{ " \r\n\t{ \"a\": 1 }", "JSON" },
		{ "<!DOCTYPE html>\n<title>heapsnap</title>", "a page (HTML)" },
		{ "\n<HTML>", "a page (HTML)" },
		{ "main;f 100\n", "collapsed stacks" },
		{ "[stack unknown];f 100\n", "collapsed stacks" },
		{ "dear diary", NULL },
		{ "<!DOCTYPE htm", NULL },
		{ "   ", NULL },
		{ "", NULL },
		{ "\x0a\x04\x08\x01\x10\x02", NULL },
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		const size_t size = strlen(others[i].bytes);
		char *copy = malloc(size + 1); // the byte behind it is none of it
		const char *format;

		memcpy(copy, others[i].bytes, size);
		copy[size] = '{';
		format = profile_other_format(copy, size);
		CHECK_STRING(format ? format : "not known", others[i].expected ? others[i].expected : "not known");
		free(copy);
	}
}

static void put(const char *path, const char *bytes, size_t size)
{
	HS_CLEANUP_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	CHECK(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
}

// What is no profile keeps its name and its bytes, behind a link too, and also when it comes there meanwhile.
static void test_files(void)
{
	static const char words[] = "is no profile that could be replaced";
	struct output_file file;
	struct stat status;
	uint64_t size;

	put(in_directory("notes"), TEXT("dear diary"));
	CHECK(fails_with(output_file_create(in_directory("notes"), &file), words));
	CHECK(symlink("notes", in_directory("link")) == 0);
	CHECK(fails_with(output_file_create(in_directory("link"), &file), words));
	CHECK(unlink(in_directory("link")) == 0 && symlink("profile", in_directory("link")) == 0);
	put(in_directory("profile"), TEXT(PROFILE));
	CHECK(!output_file_create(in_directory("link"), &file));
	output_file_discard(&file);
	CHECK(unlink(in_directory("link")) == 0);

	CHECK(!output_file_create(in_directory("profile"), &file));
	put(in_directory("profile"), TEXT("dear diary"));
	CHECK(fails_with(output_file_commit_gzip(&file, PROFILE, strlen(PROFILE), &size), words));
	CHECK(stat(in_directory("profile"), &status) == 0 && status.st_size == 10);
	CHECK_EQUAL(count_entries(), 2);
	unlink(in_directory("profile"));
	unlink(in_directory("notes"));
}

int main(void)
{
	if (!mkdtemp(directory))
		return 1;
	test_bytes();
	test_other_formats();
	test_files();
	rmdir(directory);
	return CHECK_RESULT();
}
