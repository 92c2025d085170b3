// SPDX-License-Identifier: Apache-2.0
#include "attach/ptrace/stack_reader.h"

#include "base/pagemap.h"
#include "base/process.h"
#include "inject/abi/limits.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { PAGES_AT_ONCE = 512 };

struct stack_span stack_span_of(const arch_registers *registers, const struct proc_maps *maps)
{
	uint64_t low = registers_sp(registers) & ~UINT64_C(7),
		 block = registers_thread_pointer(registers) & ~UINT64_C(7);
	const struct proc_map *map = proc_maps_find(maps, low);

	if (!map || !map->readable)
		return (struct stack_span){ .low = low, .high = low };
	if (low < block && block < map->end)
		return (struct stack_span){ low, block, true };
	return (struct stack_span){ low, map->end, strcmp(map->name, "[stack]") == 0 };
}

enum page_kind { PAGE_HERE, PAGE_NEVER_WRITTEN, PAGE_UNKNOWN, PAGE_UNREADABLE };

static enum page_kind kind_of_page(uint64_t entry, bool is_shared)
{
	if (entry & PAGEMAP_PRESENT)
		return PAGE_HERE;
	if (entry & PAGEMAP_GUARD)
		return PAGE_UNREADABLE;
	if (entry & PAGEMAP_SWAPPED)
		return PAGE_HERE; // the kernel gets it by itself
	return is_shared ? PAGE_UNKNOWN : PAGE_NEVER_WRITTEN;
}

// Copies what can be read of [address, address + size), in order.
static struct hs_error *copy_readable(const struct target_memory *memory, uint64_t address, void *buffer, size_t size,
				      size_t *size_ret)
{
	size_t done = 0;

	while (done < size) {
		ssize_t count = pread(memory->fd, (char *)buffer + done, size - done, (off_t)(address + done));

		if (count > 0)
			done += (size_t)count;
		else if (count == 0) // as in target_memory_read
			return process_gone(memory->process);
		else if (errno != EINTR)
			break;
	}
	*size_ret = done;
	return NULL;
}

// The longest run of pages of one kind from `address` on, at most up to `end`. *end_ret: where it ends.
static enum page_kind next_run(const struct stack_reader *reader, uint64_t address, uint64_t end, uint64_t *end_ret)
{
	const struct proc_map *map = proc_maps_find(reader->maps, address);
	uint64_t first = address / HS_PAGE_SIZE, count;
	uint64_t entries[PAGES_AT_ONCE];
	enum page_kind kind;
	ssize_t got;

	*end_ret = end;
	if (!map || !map->readable)
		return PAGE_UNREADABLE;
	if (end > map->end)
		*end_ret = end = map->end;
	if (reader->memory->pagemap < 0)
		return PAGE_HERE;
	count = (end - 1) / HS_PAGE_SIZE - first + 1;
	if (count > PAGES_AT_ONCE)
		count = PAGES_AT_ONCE;
	got = pread(reader->memory->pagemap, entries, count * sizeof(entries[0]), (off_t)(first * sizeof(entries[0])));
	if (got < (ssize_t)sizeof(entries[0]))
		return PAGE_UNKNOWN;
	count = (uint64_t)got / sizeof(entries[0]);
	kind = kind_of_page(entries[0], map->shared);
	for (uint64_t i = 1; i <= count; i++) {
		uint64_t here = (first + i) * HS_PAGE_SIZE;

		if (i == count || kind_of_page(entries[i], map->shared) != kind) {
			*end_ret = here < end ? here : end;
			break;
		}
	}
	return kind;
}

uint64_t stack_reader_never_written(const struct stack_reader *reader, uint64_t address, uint64_t end)
{
	uint64_t run_end;

	return next_run(reader, address, end, &run_end) == PAGE_NEVER_WRITTEN ? run_end - address : 0;
}

struct hs_error *stack_reader_copy(const struct stack_reader *reader, uint64_t address, void *buffer, size_t size,
				   size_t *size_ret, bool *is_known_ret)
{
	size_t done = 0;
	bool ended = false;

	*is_known_ret = true;
	while (done < size && !ended) {
		uint64_t run_end;
		enum page_kind kind = next_run(reader, address + done, address + size, &run_end);
		size_t run = (size_t)(run_end - (address + done)), copied = 0;
		struct hs_error *error = NULL;

		switch (kind) {
		case PAGE_HERE:
			error = copy_readable(reader->memory, address + done, (char *)buffer + done, run, &copied);
			break;
		case PAGE_NEVER_WRITTEN:
			memset((char *)buffer + done, 0, run);
			copied = run;
			break;
		case PAGE_UNKNOWN:
			*is_known_ret = false;
			break;
		case PAGE_UNREADABLE:
			break;
		}
		if (error)
			return error;
		done += copied;
		ended = copied < run;
	}
	*size_ret = done & ~(size_t)7;
	return NULL;
}
