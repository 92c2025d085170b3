// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include "base/printable.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

// What a terminal would act on is written by its number, so that the text may be shown as it is; a parser gets the
// character itself.
static void write_escape(FILE *file, uint32_t character)
{
	if (character > 0xffff)
		fprintf(file, "\\u%04x\\u%04x", (unsigned)(0xd800 + ((character - 0x10000) >> 10)),
			(unsigned)(0xdc00 + (character & 0x3ff)));
	else
		fprintf(file, "\\u%04x", (unsigned)character);
}

static bool is_markup(char byte) { return byte == '<' || byte == '>' || byte == '&'; }

// How many bytes from here on stand for themselves: nearly all of nearly every name.
static size_t plain_length(const struct json *json, const char *text)
{
	size_t length = 0;

	while (text[length] >= ' ' && text[length] <= '~' && text[length] != '"' && text[length] != '\\' &&
	       !(json->in_markup && is_markup(text[length])))
		length++;
	return length;
}

static void write_text(const struct json *json, const char *text)
{
	FILE *file = json->file;
	size_t left = strlen(text);

	fputc('"', file);
	while (left > 0) {
		uint32_t character;
		size_t length = plain_length(json, text);

		if (length > 0) {
			fwrite(text, 1, length, file);
			text += length;
			left -= length;
			continue;
		}
		length = hs_utf8_next(text, left, &character);
		if (length == 0) {
			fprintf(file, "\\\\x%02x", (unsigned)(unsigned char)*text);
			length = 1;
		} else if (*text == '"' || *text == '\\') {
			fprintf(file, "\\%c", *text);
		} else if (!hs_is_printable(character) || (json->in_markup && is_markup(*text))) {
			write_escape(file, character);
		} else {
			fwrite(text, 1, length, file);
		}
		text += length;
		left -= length;
	}
	fputc('"', file);
}

static void begin_item(struct json *json, const char *key)
{
	if (!json->first)
		fputc(',', json->file);
	json->first = false;
	if (key) {
		write_text(json, key);
		fputc(':', json->file);
	}
}

void json_begin(struct json *json, FILE *file)
{
	*json = (struct json){ .file = file, .first = true };
	fputc('{', file);
}

bool json_end(struct json *json)
{
	fputs("}\n", json->file);
	return fflush(json->file) == 0 && !ferror(json->file);
}

void json_open(struct json *json, const char *key, char bracket)
{
	begin_item(json, key);
	fputc(bracket, json->file);
	json->first = true;
}

void json_close(struct json *json, char bracket)
{
	fputc(bracket, json->file);
	json->first = false;
}

void json_number(struct json *json, const char *key, uint64_t value)
{
	begin_item(json, key);
	fprintf(json->file, "%" PRIu64, value);
}

void json_integer(struct json *json, const char *key, int64_t value)
{
	begin_item(json, key);
	fprintf(json->file, "%" PRId64, value);
}

void json_real(struct json *json, const char *key, double value)
{
	begin_item(json, key);
	fprintf(json->file, "%.9g", value);
}

void json_bool(struct json *json, const char *key, bool value)
{
	begin_item(json, key);
	fputs(value ? "true" : "false", json->file);
}

void json_null(struct json *json, const char *key)
{
	begin_item(json, key);
	fputs("null", json->file);
}

void json_string(struct json *json, const char *key, const char *value)
{
	begin_item(json, key);
	write_text(json, value);
}
