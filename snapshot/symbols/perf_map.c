// SPDX-License-Identifier: Apache-2.0
#include "snapshot/symbols/perf_map.h"

#include <string.h>

enum { SCRIPT_FUNCTION_MAX = 4096 }; // bytes of name and file

// Hexadecimal digits, with or without "0x". False, when there are none or more than an address has.
static bool take_number(const char **position, uint64_t *ret)
{
	const char *p = *position;
	uint64_t value = 0;
	int digits = 0;

	if (p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
		p += 2;
	for (; digits <= 16; digits++, p++) {
		if (*p >= '0' && *p <= '9')
			value = value << 4 | (uint64_t)(*p - '0');
		else if ((*p | 0x20) >= 'a' && (*p | 0x20) <= 'f')
			value = value << 4 | (uint64_t)((*p | 0x20) - 'a' + 10);
		else
			break;
	}
	*position = p;
	*ret = value;
	return digits > 0 && digits <= 16;
}

static bool skip_spaces(const char **position)
{
	const char *begin = *position;

	while (**position == ' ' || **position == '\t')
		(*position)++;
	return *position > begin;
}

static struct hs_error *take_line(const char *line, struct perf_map *map)
{
	const char *position = line;
	uint64_t start, size;

	if (!take_number(&position, &start) || !skip_spaces(&position) || !take_number(&position, &size) ||
	    !skip_spaces(&position) || !*position || size == 0 || start > UINT64_MAX - size)
		return NULL;
	return range_index_add(&map->index, start, start + size, (size_t)(position - map->text));
}

struct hs_error *perf_map_parse(char *text, size_t size, struct perf_map *ret)
{
	struct hs_error *error = NULL;
	char *line = text, *end = text + size;

	*ret = (struct perf_map){ .text = text, .size = size };
	*end = 0;
	while (line < end && !error) {
		char *line_end = memchr(line, '\n', (size_t)(end - line));

		if (!line_end)
			break; // being written
		*line_end = 0;
		error = take_line(line, ret);
		line = line_end + 1;
	}
	if (error)
		perf_map_deinit(ret);
	else
		range_index_sort(&ret->index);
	return error;
}

void perf_map_deinit(struct perf_map *map) { range_index_deinit(&map->index); }

const char *perf_map_find(const struct perf_map *map, uint64_t address)
{
	size_t name;

	return range_index_find(&map->index, address, &name) ? map->text + name : NULL;
}

// Takes ":NUMBER" off the end of [text, text + *size). False when there is none.
static bool take_last_number(const char *text, size_t *size, int64_t *ret)
{
	size_t first = *size;
	int64_t value = 0;

	while (first > 0 && text[first - 1] >= '0' && text[first - 1] <= '9')
		first--;
	if (first == *size || *size - first > 9 || first == 0 || text[first - 1] != ':')
		return false;
	for (size_t i = first; i < *size; i++)
		value = value * 10 + (text[i] - '0');
	*size = first - 1;
	*ret = value;
	return true;
}

static bool begins(const char *text, size_t size, const char *beginning)
{
	size_t length = strlen(beginning);

	return size >= length && memcmp(text, beginning, length) == 0;
}

// A file that has no such beginning has no space in it.
static bool begins_as_file(const char *text, size_t size)
{
	return begins(text, size, "/") || begins(text, size, "node:") || begins(text, size, "file:");
}

static const char *after_tag(const char *text)
{
	static const char *const tags[] = { "JS:", "LazyCompile:", "Function:", "Script:", "Eval:" };

	for (size_t i = 0; i < sizeof(tags) / sizeof(tags[0]); i++) {
		size_t length = strlen(tags[i]);

		if (strncmp(text, tags[i], length) == 0 && text[length] && strchr("~^+*", text[length]))
			return text + length + 1;
	}
	return NULL;
}

bool perf_map_script_function(const char *text, struct script_function *ret)
{
	const char *name = after_tag(text);
	size_t size = name ? strnlen(name, SCRIPT_FUNCTION_MAX) : SCRIPT_FUNCTION_MAX, space;
	int64_t column, line;

	if (size == SCRIPT_FUNCTION_MAX || !take_last_number(name, &size, &column) ||
	    !take_last_number(name, &size, &line))
		return false;
	for (space = 0; space < size; space++)
		if (name[space] == ' ' && begins_as_file(name + space + 1, size - space - 1))
			break;
	for (size_t i = size; space == size && i-- > 0;)
		if (name[i] == ' ')
			space = i;
	if (space + 1 >= size)
		return false;
	*ret = (struct script_function){ name, space, name + space + 1, size - space - 1, line };
	if (begins(ret->file, ret->file_size, "file://")) {
		ret->file += strlen("file://");
		ret->file_size -= strlen("file://");
	}
	return ret->file_size > 0;
}
