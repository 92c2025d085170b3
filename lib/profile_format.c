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
}, endings[] = {
	{ ".speedscope.json", PROFILE_SPEEDSCOPE }, // before .json
	{ ".html", PROFILE_PAGE },           { ".json", PROFILE_JSON },     { ".collapsed", PROFILE_COLLAPSED },
	{ ".folded", PROFILE_COLLAPSED },    { ".txt", PROFILE_COLLAPSED },
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

enum profile_format profile_format_of(const char *path)
{
	const size_t size = strlen(path);

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		const size_t end = strlen(endings[i].name);

		if (end <= size && strcmp(path + size - end, endings[i].name) == 0)
			return endings[i].format;
	}
	return PROFILE_PPROF;
}

const char *profile_format_ending(enum profile_format format)
{
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
		if (endings[i].format == format)
			return endings[i].name; // the first one is the usual one
	return ".pb.gz";
}
