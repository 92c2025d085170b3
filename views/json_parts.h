// SPDX-License-Identifier: Apache-2.0
// What the parts of a profile are called in JSON: the same wherever they are written. Errors of the stream are the
// caller's to see.
#ifndef HEAPSNAP_VIEWS_JSON_PARTS_H
#define HEAPSNAP_VIEWS_JSON_PARTS_H

#include "base/json.h"
#include "snapshot/heap_profile.h"
#include "views/named_profile.h"

// "memory", an object of bytes; nothing where it is not known.
void memory_put_json(struct json *json, const struct profile_memory *memory);

// Into an open object: of which process and time it is, how exact, what was live and allocated in all, and of which
// blocks alone it is, if not of all.
void profile_put_json(struct json *json, const struct heap_profile *profile);
// Of that the last: "selection" and what there is beside it.
void selection_put_json(struct json *json, const struct heap_profile *profile);
// How the table was copied.
void copying_put_json(struct json *json, const struct heap_profile *profile);
// "ledger": an array of its lines.
void ledger_put_json(struct json *json, const struct heap_profile *profile);

// Into an open object: the values of a stack, a row or a whole profile; the labels of a sample.
void values_put_json(struct json *json, const struct heap_profile *profile, const struct profile_values *values);
void labels_put_json(struct json *json, const struct heap_profile *profile, const struct profile_labels *labels);
// Into an open object, or as an object of its own in an array.
void place_fields_put_json(struct json *json, const struct code_place *place);
void place_put_json(struct json *json, const struct code_place *place);

#endif
