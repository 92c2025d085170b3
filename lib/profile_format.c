// SPDX-License-Identifier: Apache-2.0
#include "lib/profile_format.h"

#include <stddef.h>
#include <string.h>

static const struct {
	const char *name;
	enum profile_format format;
} names[] = {
	{ "pprof", PROFILE_PPROF },
	{ "html", PROFILE_PAGE },
	{ "collapsed", PROFILE_COLLAPSED },
	{ "json", PROFILE_JSON },
	{ "speedscope", PROFILE_SPEEDSCOPE },
	{ "text", PROFILE_TEXT },
}, endings[] = {
	{ ".speedscope.json", PROFILE_SPEEDSCOPE }, // before .json
	{ ".html", PROFILE_PAGE },           { ".json", PROFILE_JSON },     { ".collapsed", PROFILE_COLLAPSED },
	{ ".folded", PROFILE_COLLAPSED },    { ".txt", PROFILE_TEXT },
};

bool profile_format_named(const char *text, enum profile_format *ret)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(names[i].name, text) != 0)
			continue;
		*ret = names[i].format;
		return true;
	}
	return false;
}

static bool ends_in(const char *text, const char *end)
{
	const size_t size = strlen(text), length = strlen(end);

	return length <= size && strcmp(text + size - length, end) == 0;
}

bool profile_format_is_unknown(const char *path)
{
	static const char *const others[] = { ".svg", ".png", ".jpg", ".pdf", ".dot",  ".csv", ".xml",
					      ".zip", ".xz",  ".zst", ".bz2", ".perf", ".data" };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (ends_in(path, others[i]))
			return true;
	return false;
}

enum profile_format profile_format_of(const char *path)
{
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
		if (ends_in(path, endings[i].name))
			return endings[i].format;
	return PROFILE_PPROF;
}

const char *profile_format_ending(enum profile_format format)
{
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
		if (endings[i].format == format)
			return endings[i].name; // the first one is the usual one
	return ".pb.gz";
}
