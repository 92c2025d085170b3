// SPDX-License-Identifier: Apache-2.0
// What a dump shows, for other commands that make one.
#ifndef HEAPSNAP_CLI_DUMP_H
#define HEAPSNAP_CLI_DUMP_H

#include "base/error.h"
#include "base/json.h"
#include "cli/options.h"
#include "lib/dump.h"

// Fields that a command adds to the object.
typedef void dump_more(struct json *json, const void *more);

// For people, and with --json as an object, with what `put_more` (NULL = nothing) adds. HS_ERROR_SYSTEM: standard
// output cannot be written; HS_ERROR_NO_MEMORY.
struct hs_error *dump_show(const struct options *options, const struct frame_rules *rules,
			   const struct hs_dump_result *result, dump_more *put_more, const void *more) HS_MUST_CHECK;

#endif
