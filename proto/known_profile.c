// SPDX-License-Identifier: Apache-2.0
#include "proto/known_profile.h"

#include "proto/gzip_file.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

enum { EXPANDED_BYTES = 256, FIELDS_MAX = 8, VALUE_TYPE_MOST = 24, VARINT_BYTES = 10, VALUE_DIGITS = 19 };

// proto/page/page.html
static const char page_beginning[] = "<!DOCTYPE html>", page_title[] = "<title>heapsnap</title>";
// proto/stacks/profile_json.c, speedscope_json.c
static const char json_beginning[] = "{\"heapsnap\":\"";
// cli/dump.c, report.c, diff.c and so on: what stands on standard output with --json
static const char json_result_beginning[] = "{\"command\":\"";
static const char speedscope_beginning[] =
	"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":\"heapsnap ";

// proto/stacks/text_report.c
static const char report_beginning[] = "heapsnap report of ";

// A varint of Protocol Buffers (wire type 0). False: there is none.
static bool read_varint(const uint8_t **at, const uint8_t *end, uint64_t *ret)
{
	*ret = 0;
	for (unsigned i = 0; i < VARINT_BYTES && *at < end; i++) {
		const uint8_t byte = *(*at)++;

		*ret |= (uint64_t)(byte & 0x7f) << (7 * i);
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

// A message ValueType, behind its tag: a length, then the numbers of two strings, "type" and "unit" (profile.proto).
static bool skip_value_type(const uint8_t **at, const uint8_t *end)
{
	const uint8_t *stop;
	uint64_t size, tag, number;

	if (!read_varint(at, end, &size) || size < 2 || size > VALUE_TYPE_MOST || size > (size_t)(end - *at))
		return false;
	for (stop = *at + size; *at < stop;)
		if (!read_varint(at, stop, &tag) || (tag != (1 << 3) && tag != (2 << 3)) ||
		    !read_varint(at, stop, &number))
			return false;
	return true;
}

// The first field that is not a plain number is a sample_type (1), or the period_type (11), which Go writes first.
static bool begins_as_pprof(const uint8_t *bytes, size_t size)
{
	const uint8_t *at = bytes, *end = bytes + size;
	uint64_t tag, number;

	for (unsigned i = 0; i < FIELDS_MAX && read_varint(&at, end, &tag); i++) {
		if (tag == (1 << 3 | 2))
			return skip_value_type(&at, end);
		if (tag == (11 << 3 | 2)
			    ? !skip_value_type(&at, end)
			    : (tag & 7) != 0 || tag >> 3 < 7 || tag >> 3 > 15 || !read_varint(&at, end, &number))
			return false;
	}
	return false;
}

static bool begins_with(const char *bytes, size_t size, const char *text, size_t length)
{
	return size >= length && memcmp(bytes, text, length) == 0;
}

// Where the value of a collapsed stack begins: behind the last blank. NULL = that is no number, as it is written.
static const char *stack_value(const char *line, const char *end)
{
	const char *value = memrchr(line, ' ', (size_t)(end - line));

	if (!value || value == line || end - ++value < 1 || end - value > VALUE_DIGITS || *value == '0')
		return NULL;
	for (const char *at = value; at < end; at++)
		if (*at < '0' || *at > '9')
			return NULL;
	return value;
}

// "main;f 100" (proto/stacks/collapsed.h): names that have something in them and do not begin with a blank, as a list
// that people write often does; nothing that a terminal would act on.
static bool is_collapsed_stack(const char *line, const char *end, bool *has_callers_ret)
{
	const char *value = stack_value(line, end);
	char before = ';';

	*has_callers_ret = false;
	if (!value)
		return false;
	for (const char *at = line; at < value - 1; at++) {
		if ((unsigned char)*at < ' ' || *at == '\x7f' || (before == ';' && (*at == ';' || *at == ' ')))
			return false;
		*has_callers_ret |= *at == ';';
		before = *at;
	}
	return before != ';';
}

static bool begins_as_collapsed(const char *bytes, size_t size)
{
	bool has_callers = true;
	size_t lines = 0;

	for (const char *line = bytes, *stop = bytes + size, *end; line < stop; line = end + 1, lines++) {
		end = memchr(line, '\n', (size_t)(stop - line));
		if (!end)
			break; // cut, or no end of ours
		if (!is_collapsed_stack(line, end, &has_callers) || (lines == 0 && !has_callers))
			return false;
	}
	return lines > 0;
}

#define BEGINS_WITH(bytes, size, text) begins_with(bytes, size, text, sizeof(text) - 1)

bool profile_is_known(const void *beginning, size_t size)
{
	uint8_t expanded[EXPANDED_BYTES];

	if (size > KNOWN_PROFILE_BYTES)
		size = KNOWN_PROFILE_BYTES;
	if (size == 0)
		return true;
	if (gzip_is(beginning, size))
		return begins_as_pprof(expanded, gzip_expand_beginning(beginning, size, expanded, sizeof(expanded)));
	if (BEGINS_WITH(beginning, size, page_beginning))
		return memmem(beginning, size, page_title, sizeof(page_title) - 1);
	return BEGINS_WITH(beginning, size, json_beginning) || BEGINS_WITH(beginning, size, speedscope_beginning) ||
	       BEGINS_WITH(beginning, size, report_beginning) || begins_as_pprof(beginning, size) ||
	       begins_as_collapsed(beginning, size);
}

// Whether text begins so, behind blanks and in any case. pre: `text` is in lower case
static bool begins_as(const char *bytes, size_t size, const char *text)
{
	const size_t length = strlen(text);
	size_t at = 0;

	while (at < size && (bytes[at] == ' ' || bytes[at] == '\t' || bytes[at] == '\r' || bytes[at] == '\n'))
		at++;
	if (size - at < length)
		return false;
	for (size_t i = 0; i < length; i++)
		if (tolower((unsigned char)bytes[at + i]) != text[i])
			return false;
	return true;
}

const char *profile_other_format(const void *beginning, size_t size)
{
	if (size > KNOWN_PROFILE_BYTES)
		size = KNOWN_PROFILE_BYTES;
	if (BEGINS_WITH(beginning, size, json_beginning))
		return "a JSON profile of heapsnap's";
	if (BEGINS_WITH(beginning, size, json_result_beginning))
		return "what heapsnap --json prints";
	if (BEGINS_WITH(beginning, size, speedscope_beginning))
		return "a speedscope profile";
	if (BEGINS_WITH(beginning, size, report_beginning))
		return "a report as text";
	if (begins_as(beginning, size, "<!doctype html") || begins_as(beginning, size, "<html"))
		return "a page (HTML)";
	if (begins_as(beginning, size, "{"))
		return "JSON";
	return begins_as_collapsed(beginning, size) ? "collapsed stacks" : NULL;
}
