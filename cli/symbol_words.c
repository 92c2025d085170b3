// SPDX-License-Identifier: Apache-2.0
#include "cli/symbol_words.h"

#include "cli/option_errors.h"
#include "cli/option_values.h"
#include "lib/debuginfod.h"

_Static_assert(HS_DEBUGINFOD_TIME == UINT64_C(90000000000), "LIMIT_DEBUGINFOD");

bool symbol_words_take_time(struct options *options, const char *text)
{
	return parse_duration(text, &options->debuginfod_ns) ||
	       options_refuse(options, "--debuginfod-time expects a time, as 30s or 5m, got '%s'", text);
}

bool symbol_words_check(const struct options *options)
{
	if (options->debuginfod_ns && !options->wants_debuginfod)
		return options_refuse(options, "%s", "--debuginfod-time needs --debuginfod");
	if (options->path_count > 0 && (options->no_cache || options->wants_debuginfod))
		return options_refuse(options, "--%s needs a process: what a file says is read already",
				      options->no_cache ? "no-cache" : "debuginfod");
	return true;
}
