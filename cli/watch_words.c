// SPDX-License-Identifier: Apache-2.0
#include "cli/watch_words.h"

#include "cli/option_errors.h"
#include "cli/option_values.h"

#include <string.h>

bool watch_words_take_for(struct options *options, const char *text)
{
	return parse_duration(text, &options->time_ns) ||
	       options_refuse(options,
			      "--for expects a time like 90s, 500ms, 2m or 1h, above 0 and up to 1000 hours, got '%s'",
			      text);
}

bool watch_words_take_page(struct options *options, const char *text)
{
	const size_t length = strlen(text);

	if (length <= 5 || strcmp(text + length - 5, ".html") != 0)
		return options_refuse(options, "--page expects a name that ends in .html, got '%s'", text);
	options->page = text;
	return true;
}

bool watch_words_check(const struct options *options)
{
	if (options->command == COMMAND_PROFILE && !options->time_ns)
		return options_refuse(options, "%s", "how long to record is missing (--for TIME)");
	return true;
}
