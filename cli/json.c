// SPDX-License-Identifier: Apache-2.0
#include "cli/json.h"

#include <inttypes.h>
#include <stddef.h>

// Bytes of the UTF-8 sequence at `text` (RFC 3629); 0 = none is valid.
static size_t utf8_length(const unsigned char *text)
{
	size_t length = text[0] < 0x80 ? 1 : text[0] >= 0xc2 && text[0] < 0xe0 ? 2 : text[0] >= 0xe0 && text[0] < 0xf0 ? 3 :
			text[0] >= 0xf0 && text[0] < 0xf5 ? 4 : 0;

	for (size_t i = 1; i < length; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	if ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] >= 0xa0) || (text[0] == 0xf0 && text[1] < 0x90) ||
	    (text[0] == 0xf4 && text[1] >= 0x90))
		return 0;
	return length;
}

static void write_text(FILE *file, const char *value)
{
	const unsigned char *text = (const unsigned char *)value;

	fputc('"', file);
	while (*text) {
		size_t length = utf8_length(text);

		if (length == 0) {
			fputs("\xef\xbf\xbd", file);
			text++;
			continue;
		}
		if (*text == '"' || *text == '\\')
			fprintf(file, "\\%c", *text);
		else if (*text < 0x20)
			fprintf(file, "\\u%04x", *text);
		else
			fwrite(text, 1, length, file);
		text += length;
	}
	fputc('"', file);
}

static void begin_item(struct json *json, const char *key)
{
	if (!json->first)
		fputc(',', json->file);
	json->first = false;
	if (key) {
		write_text(json->file, key);
		fputc(':', json->file);
	}
}

void json_begin(struct json *json, FILE *file)
{
	*json = (struct json){ file, true };
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

void json_string(struct json *json, const char *key, const char *value)
{
	begin_item(json, key);
	write_text(json->file, value);
}
