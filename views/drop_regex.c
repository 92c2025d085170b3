// SPDX-License-Identifier: Apache-2.0
#include "views/drop_regex.h"

#include "base/cleanup.h"

#include <stdio.h>
#include <string.h>

static bool begins(const char *text, const char *beginning) { return strncmp(text, beginning, strlen(beginning)) == 0; }

// One piece of a pattern; returns how many bytes it has. `from` is the whole pattern.
static size_t put_piece(FILE *file, const char *from, const char *at, bool *is_in_list)
{
	if (begins(at, "*::")) {
		fputs(".*::", file);
		return 3;
	}
	if (begins(at, "std::") && (at == from || !at[-1] || strchr("{,", at[-1]))) {
		fputs("std::(__cxx11::|__1::)?", file);
		return 5;
	}
	if (begins(at, "absl::") && at == from) {
		fputs("absl::(lts_[0-9]*::)?", file);
		return 6;
	}
	if (begins(at, "::*")) { // of a class, perhaps a template
		fputs("(<.*>)?::.*", file);
		return 3;
	}
	if (*at == '{' || *at == '}')
		*is_in_list = *at == '{';
	if (*at == '*')
		fputs(".*", file);
	else if (*at == '{' || *at == '}')
		fputc(*at == '{' ? '(' : ')', file);
	else if (*at == ',' && *is_in_list)
		fputc('|', file);
	else
		fprintf(file, strchr(".+()[]$^?|", *at) ? "\\%c" : "%c", *at);
	return 1;
}

static void put_pattern(FILE *file, const char *text)
{
	bool is_in_list = false;

	for (const char *at = text; *at;)
		at += put_piece(file, text, at, &is_in_list);
	if (strstr(text, "::") && text[strlen(text) - 1] != '*') // a function template
		fputs("(<.*>)?", file);
}

struct hs_error *drop_regex_make(const bool *wanted, char **ret)
{
	size_t size;
	HS_CLEANUP_FREE char *text = NULL;
	FILE *file = open_memstream(&text, &size);
	bool is_bad;

	if (!file)
		return &hs_error_no_memory;
	// A return type, with template arguments three deep.
	fputs("(([^ <(]|<([^<>]|<([^<>]|<[^<>]*>)*>)*>)+ )*", file);
	// Rust's <Type as Trait>, <T as Trait> when T is no path, <[u8]>::to_vec, <str>::to_lowercase.
	fputs("(<*([^: ]+ as )?)?(str>::.*|\\[[^ ]*\\]>::.*", file);
	for (size_t i = 0; i < frame_pattern_count; i++) {
		if (!drop_regex_takes(&frame_patterns[i]) || (wanted && !wanted[i]))
			continue;
		fputs("|", file);
		put_pattern(file, frame_patterns[i].text);
	}
	fputs(")(\\.[a-z].*|@.*|\\[abi:.*)?", file);
	is_bad = ferror(file);
	if (fclose(file) || is_bad)
		return &hs_error_no_memory;
	*ret = HS_STEAL_POINTER(text);
	return NULL;
}
