// SPDX-License-Identifier: Apache-2.0
#include "base/proc_maps.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

enum { PAGE_BYTES = 4096 };

// A process may have some hundred thousand mappings (vm.max_map_count is 65530 by default); a line has at most a
// path of 4096 bytes, and each of them four times as long when escaped.
static const size_t MAPS_TEXT_LIMIT = (size_t)1 << 30;

enum { READ_TRIES = 10 };

// Reads digits of `base` (10 or 16), at least one. False, and nothing moved, when there is none or the value needs
// more than 64 bits.
static bool parse_number(const char **position, const char *end, unsigned base, uint64_t *ret)
{
	const char *p = *position;
	uint64_t value = 0;

	for (; p < end; p++) {
		unsigned digit;

		if (*p >= '0' && *p <= '9')
			digit = (unsigned)(*p - '0');
		else if (base == 16 && *p >= 'a' && *p <= 'f')
			digit = (unsigned)(*p - 'a') + 10;
		else
			break;
		if (value > (UINT64_MAX - digit) / base)
			return false;
		value = value * base + digit;
	}
	if (p == *position)
		return false;
	*position = p;
	*ret = value;
	return true;
}

static bool parse_character(const char **position, const char *end, char wanted)
{
	if (*position == end || **position != wanted)
		return false;
	(*position)++;
	return true;
}

// One of the two letters: `set` makes *ret true.
static bool parse_flag(const char **position, const char *end, char set, char unset, bool *ret)
{
	*ret = parse_character(position, end, set);
	return *ret || parse_character(position, end, unset);
}

static bool is_octal(char c, char highest) { return c >= '0' && c <= highest; }

// Copies a name to `to` (room for end - from + 1 bytes) with the kernel's escapes undone: fs/proc/task_mmu.c writes
// a newline in a path as \012 and nothing else so; a backslash is not escaped. Returns the end of the text, where a
// 0 byte stands.
static char *copy_name(char *to, const char *from, const char *end)
{
	while (from < end) {
		if (end - from >= 4 && from[0] == '\\' && is_octal(from[1], '3') && is_octal(from[2], '7') &&
		    is_octal(from[3], '7')) {
			*to++ = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0'));
			from += 4;
		} else {
			*to++ = *from++;
		}
	}
	*to = 0;
	return to;
}

// Parses one line without its newline. *storage moves behind the name that is written there.
static bool parse_line(const char *line, const char *end, struct proc_map *ret, char **storage)
{
	static const char deleted_mark[] = " (deleted)";
	const size_t mark_length = sizeof(deleted_mark) - 1;
	struct proc_map map = { .name = "" };
	uint64_t device_major, device_minor;
	bool is_private;

	if (!parse_number(&line, end, 16, &map.start) || !parse_character(&line, end, '-') ||
	    !parse_number(&line, end, 16, &map.end) || !parse_character(&line, end, ' ') ||
	    !parse_flag(&line, end, 'r', '-', &map.readable) || !parse_flag(&line, end, 'w', '-', &map.writable) ||
	    !parse_flag(&line, end, 'x', '-', &map.executable) || !parse_flag(&line, end, 'p', 's', &is_private) ||
	    !parse_character(&line, end, ' ') || !parse_number(&line, end, 16, &map.offset) ||
	    !parse_character(&line, end, ' ') || !parse_number(&line, end, 16, &device_major) ||
	    !parse_character(&line, end, ':') || !parse_number(&line, end, 16, &device_minor) ||
	    !parse_character(&line, end, ' ') || !parse_number(&line, end, 10, &map.inode))
		return false;
	if (map.start >= map.end || device_major > UINT32_MAX || device_minor > UINT32_MAX)
		return false;
	map.shared = !is_private;
	map.device_major = (uint32_t)device_major;
	map.device_minor = (uint32_t)device_minor;

	if (line < end && *line != ' ')
		return false;
	while (line < end && *line == ' ')
		line++;
	if (line < end) {
		if ((size_t)(end - line) > mark_length && memcmp(end - mark_length, deleted_mark, mark_length) == 0) {
			map.deleted = true;
			end -= mark_length;
		}
		map.name = *storage;
		*storage = copy_name(*storage, line, end) + 1;
	}
	*ret = map;
	return true;
}

struct hs_error *proc_maps_parse(const char *text, size_t size, struct proc_maps *ret)
{
	const char *end = text + size;
	size_t line_count = 0;

	for (size_t i = 0; i < size; i++)
		line_count += text[i] == '\n';
	line_count += size > 0 && end[-1] != '\n';

	// A decoded name and its 0 byte are never longer than the line that it comes from, newline included.
	HS_CLEANUP_FREE char *names = malloc(size + 1);
	HS_CLEANUP_FREE struct proc_map *items = calloc(line_count + 1, sizeof(*items));

	if (!names || !items)
		return &hs_error_no_memory;

	char *storage = names;
	size_t count = 0;

	for (const char *line = text; line < end;) {
		const char *newline = memchr(line, '\n', (size_t)(end - line));
		const char *line_end = newline ? newline : end;

		if (memchr(line, 0, (size_t)(line_end - line)) ||
		    !parse_line(line, line_end, &items[count], &storage) ||
		    (count > 0 && items[count].start < items[count - 1].end))
			return hs_error_create(HS_ERROR_BAD_DATA, "maps: line %zu cannot be read: \"%.*s\"", count + 1,
					       line_end - line > 200 ? 200 : (int)(line_end - line), line);
		count++;
		line = newline ? newline + 1 : end;
	}
	*ret = (struct proc_maps){ HS_STEAL_POINTER(items), count, HS_STEAL_POINTER(names) };
	return NULL;
}

struct hs_error *proc_maps_read(const struct process *process, struct proc_maps *ret)
{
	struct hs_error *error = NULL;

	// The kernel gives the text in pieces; a mapping that grows between two of them makes lines that overlap. Such
	// a text is read again.
	for (int try = 0; try < READ_TRIES; try++) {
		HS_CLEANUP_FREE char *text = NULL;
		size_t size;

		hs_error_destroy(error);
		error = process_read_long_live_file(process, "maps", MAPS_TEXT_LIMIT, &text, &size);
		if (!error)
			error = proc_maps_parse(text, size, ret);
		if (!error || error->code != HS_ERROR_BAD_DATA)
			break;
	}
	return error ? hs_error_prefix(error, "process %d", (int)process->pid) : NULL;
}

void proc_maps_deinit(struct proc_maps *maps)
{
	free(maps->items);
	free(maps->text);
	*maps = (struct proc_maps){ 0 };
}

enum process_memory proc_maps_memory(const struct process *process)
{
	struct proc_maps maps;
	struct hs_error *error = proc_maps_read(process, &maps);
	enum process_memory memory = MEMORY_GONE;

	if (error) {
		hs_error_destroy(error);
		return process_is_there(process) ? MEMORY_UNKNOWN : MEMORY_GONE;
	}
	if (maps.count > 0)
		memory = MEMORY_THERE;
	proc_maps_deinit(&maps);
	return memory;
}

const struct proc_map *proc_maps_find(const struct proc_maps *maps, uint64_t address)
{
	const size_t below = ARRAY_COUNT_UP_TO(maps->items, maps->count, end, address);

	return below < maps->count && maps->items[below].start <= address ? &maps->items[below] : NULL;
}

// The hole between two mappings is [floor, ceiling); narrows it by `gap` at a mapping and by [low, high) and
// returns where `size` bytes go in it, 0 when they do not fit.
static uint64_t place_in_hole(uint64_t floor, uint64_t ceiling, uint64_t size, bool from_top)
{
	if (floor > UINT64_MAX - (PAGE_BYTES - 1))
		return 0;
	floor = (floor + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
	if (ceiling <= floor || ceiling - floor < size)
		return 0;
	return from_top ? (ceiling - size) & ~(uint64_t)(PAGE_BYTES - 1) : floor;
}

uint64_t proc_maps_find_hole(const struct proc_maps *maps, uint64_t low, uint64_t high, uint64_t size, uint64_t gap,
			     bool from_top)
{
	// Address 0 means "none", so it is never handed out.
	if (low < PAGE_BYTES)
		low = PAGE_BYTES;
	if (size == 0 || low >= high)
		return 0;
	for (size_t i = 0; i <= maps->count; i++) {
		size_t hole = from_top ? maps->count - i : i; // the hole before items[hole]
		uint64_t floor = low, ceiling = high;

		if (hole > 0) {
			uint64_t below = maps->items[hole - 1].end;

			if (below > UINT64_MAX - gap)
				continue;
			if (below + gap > floor)
				floor = below + gap;
		}
		if (hole < maps->count) {
			uint64_t above = maps->items[hole].start;

			if (above < gap)
				continue;
			if (above - gap < ceiling)
				ceiling = above - gap;
		}

		uint64_t address = place_in_hole(floor, ceiling, size, from_top);

		if (address)
			return address;
	}
	return 0;
}
