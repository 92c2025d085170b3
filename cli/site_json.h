// SPDX-License-Identifier: Apache-2.0
// Sites as JSON.
#ifndef HEAPSNAP_CLI_SITE_JSON_H
#define HEAPSNAP_CLI_SITE_JSON_H

#include "base/json.h"
#include "views/profile_view.h"

// "sites": an array in the list's order, at most `limit` of them; 0 = all.
void sites_put_json(struct json *json, const struct profile_view *view, size_t limit);

// For what else has values and places. The first writes into an open object, the other one an object of its own.
void values_put_json(struct json *json, const struct heap_profile *profile, const struct profile_values *values);
void place_put_json(struct json *json, const struct code_place *place);

#endif
