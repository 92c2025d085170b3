// SPDX-License-Identifier: Apache-2.0
// Sites as JSON.
#ifndef HEAPSNAP_CLI_SITE_JSON_H
#define HEAPSNAP_CLI_SITE_JSON_H

#include "base/json.h"
#include "views/profile_view.h"

// "sites": an array in the list's order, at most `limit` of them; 0 = all.
void sites_put_json(struct json *json, const struct profile_view *view, size_t limit);

#endif
