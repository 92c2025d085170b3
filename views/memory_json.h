// SPDX-License-Identifier: Apache-2.0
// How much memory the whole process has, in JSON: the same wherever it is written.
#ifndef HEAPSNAP_VIEWS_MEMORY_JSON_H
#define HEAPSNAP_VIEWS_MEMORY_JSON_H

#include "base/json.h"
#include "snapshot/heap_profile.h"

// "memory", an object of bytes; nothing where it is not known.
void memory_put_json(struct json *json, const struct profile_memory *memory);

#endif
