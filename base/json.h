// SPDX-License-Identifier: Apache-2.0
// One JSON object, written in order. Commas are the writer's business.
#ifndef HEAPSNAP_BASE_JSON_H
#define HEAPSNAP_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json {
	FILE *file;
	bool first; // nothing written yet in the innermost object or array
	// May be set after json_begin, where the object stands in an HTML document: < > and & are then written as
	// escapes of JSON, so that no text ends the element or means anything in it. Keys are the writer's own.
	bool in_markup;
};

void json_begin(struct json *json, FILE *file);
// Closes the outermost object and ends the line. Returns false when the stream failed.
bool json_end(struct json *json);

// `key` NULL inside arrays.
void json_open(struct json *json, const char *key, char bracket);
void json_close(struct json *json, char bracket);
void json_number(struct json *json, const char *key, uint64_t value);
void json_integer(struct json *json, const char *key, int64_t value);
// A number that need not be whole.
void json_real(struct json *json, const char *key, double value);
void json_bool(struct json *json, const char *key, bool value);
// What is not known.
void json_null(struct json *json, const char *key);
// The text as it is, in valid UTF-8: a byte that is part of no character becomes the four characters \xff, and what a
// terminal would act on an escape of JSON (base/printable.h).
void json_string(struct json *json, const char *key, const char *value);

#endif
