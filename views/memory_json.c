// SPDX-License-Identifier: Apache-2.0
#include "views/memory_json.h"

void memory_put_json(struct json *json, const struct profile_memory *memory)
{
	if (!memory->is_known)
		return;
	json_open(json, "memory", '{');
	json_number(json, "rss", memory->rss);
	json_number(json, "anonymous", memory->anonymous);
	json_number(json, "swapped", memory->swapped);
	json_close(json, '}');
}
