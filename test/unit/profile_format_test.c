// SPDX-License-Identifier: Apache-2.0
#include "lib/profile_format.h"

#include "check.h"

static const struct {
	const char *path;
	enum profile_format format;
} paths[] = {
	{ "out.pb.gz", PROFILE_PPROF },
	{ "out", PROFILE_PPROF },
	{ "-", PROFILE_PPROF },
	{ "a.html", PROFILE_PAGE },
	{ "a.html.pb.gz", PROFILE_PPROF },
	{ "a.b.json", PROFILE_JSON },
	{ ".json", PROFILE_JSON },
	{ "a.speedscope.json", PROFILE_SPEEDSCOPE },
	{ "speedscope.json", PROFILE_JSON },
	{ "a.json/out", PROFILE_PPROF },
	{ "a.collapsed", PROFILE_COLLAPSED },
	{ "a.folded", PROFILE_COLLAPSED },
	{ "/tmp/a.txt", PROFILE_TEXT },
	{ "a.TXT", PROFILE_PPROF },
	{ "a.txt.gz", PROFILE_PPROF },
};

static const struct {
	const char *name;
	enum profile_format format; // PROFILE_BY_NAME = there is no such format
} names[] = {
	{ "pprof", PROFILE_PPROF },           { "html", PROFILE_PAGE },      { "json", PROFILE_JSON },
	{ "collapsed", PROFILE_COLLAPSED },   { "folded", PROFILE_BY_NAME }, { "", PROFILE_BY_NAME },
	{ "speedscope", PROFILE_SPEEDSCOPE }, { "PPROF", PROFILE_BY_NAME },
};

int main(void)
{
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		CHECK_EQUAL(profile_format_of(paths[i].path), paths[i].format);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		enum profile_format format = PROFILE_BY_NAME;

		CHECK_EQUAL(profile_format_named(names[i].name, &format), names[i].format != PROFILE_BY_NAME);
		CHECK_EQUAL(format, names[i].format);
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) // a name that is made says the format
		CHECK_EQUAL(profile_format_of(profile_format_ending(names[i].format)),
			    names[i].format == PROFILE_BY_NAME ? PROFILE_PPROF : names[i].format);
	CHECK(profile_format_is_unknown("x.svg") && profile_format_is_unknown(".zst"));
	CHECK(!profile_format_is_unknown("svg") && !profile_format_is_unknown("x.svg.pb.gz"));
	CHECK_STRING(profile_format_ending(PROFILE_BY_NAME), ".pb.gz");
	CHECK_STRING(profile_format_ending(PROFILE_COLLAPSED), ".collapsed");
	CHECK_STRING(profile_format_ending(PROFILE_SPEEDSCOPE), ".speedscope.json");
	return CHECK_RESULT();
}
