// SPDX-License-Identifier: Apache-2.0
#include "attach/elf/file_pages.h"

#include "attach/elf/mapped_file.h"
#include "base/array.h"
#include "base/cleanup.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

struct reading {
	const struct proc_maps *maps;
	const struct target_memory *memory;
	const struct module_list *modules;
	const struct proc_map *map; // that `fd` is the file of
	int fd;
};

static uint64_t offset_in(const struct proc_map *map, uint64_t address) { return map->offset + (address - map->start); }

static bool is_of(const struct file_page *page, const struct proc_map *map)
{
	return page->inode == map->inode && page->device == makedev(map->device_major, map->device_minor) &&
	       page->offset == offset_in(map, page->address);
}

const struct file_page *file_pages_find(const struct file_pages *pages, const struct proc_map *map, uint64_t address)
{
	for (size_t i = 0; pages && i < pages->count; i++)
		if (pages->items[i].address == page_of(address))
			return is_of(&pages->items[i], map) ? &pages->items[i] : NULL;
	return NULL;
}

static bool has_page(const struct file_pages *pages, uint64_t address)
{
	for (size_t i = pages->count; i-- > 0;)
		if (pages->items[i].address == address)
			return true;
	return false;
}

// The page's bytes in a module that was read. False: they were not.
static bool copy_of_module(const struct module_list *modules, struct file_page *page)
{
	for (size_t i = 0; i < modules->count; i++) {
		const struct module *module = &modules->items[i];
		size_t left;

		if (module->inode != page->inode || module->device != page->device || !module->elf.copy ||
		    page->offset >= module->elf.size)
			continue;
		left = module->elf.size - page->offset;
		page->size = left < HS_PAGE_SIZE ? left : HS_PAGE_SIZE;
		if (!file_copy_load(module->elf.copy, page->offset, page->size))
			return false;
		memcpy(page->bytes, module->elf.data + page->offset, page->size);
		return true;
	}
	return false;
}

static bool read_file(int fd, struct file_page *page)
{
	ssize_t got = fd < 0 ? -1 : pread(fd, page->bytes, HS_PAGE_SIZE, (off_t)page->offset);

	page->size = got > 0 ? (size_t)got : 0;
	return got > 0;
}

static void open_file(struct reading *reading, const struct proc_map *map)
{
	struct hs_error *error;

	if (reading->map == map)
		return;
	if (reading->fd >= 0)
		close(reading->fd);
	reading->fd = -1;
	reading->map = map;
	error = mapped_file_open(reading->memory->process, map, reading->memory, &reading->fd);
	hs_error_destroy(error);
}

static struct file_page *add_page(struct file_pages *pages, const struct proc_map *map, uint64_t address)
{
	if (ARRAY_RESERVE(pages->items, pages->count + 1, &pages->room))
		return NULL;
	pages->items[pages->count] = (struct file_page){
		.address = address,
		.device = makedev(map->device_major, map->device_minor),
		.inode = map->inode,
		.offset = offset_in(map, address),
	};
	return &pages->items[pages->count];
}

static void read_page(struct reading *reading, uint64_t address, struct file_pages *pages)
{
	const struct proc_map *map = proc_maps_find(reading->maps, address);
	struct file_page *page;
	bool known;

	if (!map || map->shared || map->inode == 0 || has_page(pages, address))
		return;
	page = add_page(pages, map, address);
	if (!page)
		return;
	if (reading->modules) {
		known = copy_of_module(reading->modules, page);
	} else {
		open_file(reading, map);
		known = read_file(reading->fd, page);
	}
	pages->count += known;
}

void file_pages_read(const struct proc_maps *maps, const struct target_memory *memory,
		     const struct module_list *modules, const struct hook_record *hooks, size_t count,
		     struct file_pages *ret)
{
	struct reading reading = { .maps = maps, .memory = memory, .modules = modules, .fd = -1 };

	for (size_t i = 0; i < count; i++) {
		if (hooks[i].verdict != VERDICT_ok || hooks[i].size == 0)
			continue;
		read_page(&reading, page_of(hooks[i].address), ret);
		read_page(&reading, page_of(hooks[i].address + hooks[i].size - 1u), ret);
	}
	if (reading.fd >= 0)
		close(reading.fd);
}

// /proc/PID/exe can be opened without the rights that map_files needs.
void file_pages_read_entry(const struct proc_maps *maps, const struct target_memory *memory, uint64_t entry,
			   struct file_pages *ret)
{
	const struct proc_map *map = proc_maps_find(maps, page_of(entry));
	HS_CLEANUP_CLOSE int fd = -1;
	struct file_page *page;

	if (!map || map->inode == 0 || has_page(ret, page_of(entry)))
		return;
	fd = process_openat(memory->process, "exe", O_RDONLY);
	page = add_page(ret, map, page_of(entry));
	if (page)
		ret->count += read_file(fd, page);
}

void file_pages_deinit(struct file_pages *pages)
{
	free(pages->items);
	*pages = (struct file_pages){ 0 };
}
