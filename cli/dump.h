// SPDX-License-Identifier: Apache-2.0
// What a dump shows, for other commands that make one.
#ifndef HEAPSNAP_CLI_DUMP_H
#define HEAPSNAP_CLI_DUMP_H

#include "base/error.h"
#include "base/json.h"
#include "cli/options.h"
#include "lib/dump.h"

// What another command adds to the object. All borrowed.
struct dump_more {
	void (*put)(struct json *json, const void *data);
	const void *data;
};

// How the profile is to be shown, and of which blocks it is.
struct dump_setting {
	struct view_options view;
	struct block_selection blocks;
};

// For people, and with --json as an object; `more` NULL = of a dump. HS_ERROR_SYSTEM: standard output cannot be
// written; HS_ERROR_NO_MEMORY. pre: view_check
struct hs_error *dump_show(const struct options *options, const struct hs_dump_result *result,
			   const struct dump_more *more) HS_MUST_CHECK;

#endif
