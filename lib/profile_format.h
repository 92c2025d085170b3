// SPDX-License-Identifier: Apache-2.0
// The formats that profiles are written in, and how they are chosen. Pure.
#ifndef HEAPSNAP_LIB_PROFILE_FORMAT_H
#define HEAPSNAP_LIB_PROFILE_FORMAT_H

#include <stdbool.h>

enum profile_format {
	PROFILE_BY_NAME, // as the file's name says
	PROFILE_PPROF,
	PROFILE_PAGE,
	PROFILE_COLLAPSED,
	PROFILE_JSON,
	PROFILE_SPEEDSCOPE,
	PROFILE_TEXT
};

// "pprof", "html", "collapsed", "json", "speedscope", "text". False: there is no such format.
bool profile_format_named(const char *text, enum profile_format *ret);

// By the end of a file's name: .html, .speedscope.json, .json, .txt; .collapsed and .folded are collapsed stacks; all
// else is pprof.
enum profile_format profile_format_of(const char *path);

// Whether the name ends as files of pictures, tables and packed files do: nothing that is written here.
bool profile_format_is_unknown(const char *path);

// What a name made for a file of that format ends in; PROFILE_BY_NAME: ".pb.gz".
const char *profile_format_ending(enum profile_format format);

#endif
