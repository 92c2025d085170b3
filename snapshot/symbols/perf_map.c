// SPDX-License-Identifier: Apache-2.0
#include "snapshot/symbols/perf_map.h"

#include <string.h>

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
