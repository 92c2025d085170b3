// SPDX-License-Identifier: Apache-2.0
// A view as JSON: its rows, and its stacks.
#ifndef HEAPSNAP_CLI_VIEW_JSON_H
#define HEAPSNAP_CLI_VIEW_JSON_H

#include "base/error.h"
#include "base/json.h"
#include "cli/options.h"
#include "views/profile_view.h"

// What the rows are: "sites", "rows" (--by function and the like) or "nodes" (--tree); all of them, unless --limit says
// how many. Before them "shown", where --focus or --ignore is given. HS_ERROR_NO_MEMORY. pre: view_check
struct hs_error *view_put_json(struct json *json, const struct options *options,
			       const struct profile_view *view) HS_MUST_CHECK;

// A warning where --focus and --ignore have left nothing.
void view_warn_empty(const struct options *options, const struct profile_view *view);

// "stacks": each that is kept, whole, most first as --sort says. HS_ERROR_NO_MEMORY.
struct hs_error *stacks_put_json(struct json *json, const struct options *options,
				 const struct profile_view *view) HS_MUST_CHECK;

#endif
