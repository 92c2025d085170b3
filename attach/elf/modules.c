// SPDX-License-Identifier: Apache-2.0
#include "attach/elf/modules.h"

#include "attach/arch/addresses.h"
#include "attach/elf/file_cache.h"
#include "attach/elf/libc_symbols.h"
#include "attach/elf/link_map.h"
#include "attach/elf/mapped_file.h"
#include "attach/elf/memory_copy.h"
#include "attach/elf/program_kind.h"
#include "attach/guard/own_descriptors.h"
#include "attach/guard/standstill.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/log.h"
#include "inject/abi/page.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define VDSO_SIZE_MAX (1u << 20)

// What the kernel told the program at its start, in the auxiliary vector; 0 = not told.
struct start_facts {
	uint64_t program_headers; // AT_PHDR
	uint64_t loader;          // AT_BASE
	uint64_t vdso;            // AT_SYSINFO_EHDR
	uint64_t entry;           // AT_ENTRY
};

static struct hs_error *read_start_facts(const struct process *process, struct start_facts *ret)
{
	static const uint64_t types[] = { AT_PHDR, AT_BASE, AT_SYSINFO_EHDR, AT_ENTRY };
	uint64_t values[4];
	struct hs_error *error = process_auxv(process, types, 4, values);

	if (!error)
		*ret = (struct start_facts){ values[0], values[1], values[2], values[3] };
	return error;
}

// What cannot be read may be an ELF file, but in a memory that is gone there is nothing.
static bool may_be_elf(const struct proc_map *map, const struct target_memory *memory)
{
	uint8_t magic[SELFMAG];
	struct hs_error *error = target_memory_read(memory, map->start, magic, sizeof(magic));
	bool may_be = error ? error->code != HS_ERROR_GONE : memcmp(magic, ELFMAG, SELFMAG) == 0;

	hs_error_destroy(error);
	return may_be;
}

// Whether all of [low, high) is mapped and readable. Between two executable segments there may be a hole.
// Of [low, high), an executable segment, what is mapped and can be read from its beginning on.
static void note_readable(struct module *module, const struct proc_maps *maps, uint64_t low, uint64_t high)
{
	uint64_t end = low;

	while (end < high) {
		const struct proc_map *map = proc_maps_find(maps, end);

		if (!map || !map->readable)
			break;
		end = map->end < high ? map->end : high;
	}
	if (end - low > module->readable_high - module->readable_low) {
		module->readable_low = low;
		module->readable_high = end;
	}
}

// Fills load_bias and the spans from the program headers, `start` being where file offset 0 is mapped. Returns false
// when the object was not loaded there: a file that is only read through a mapping.
static bool place_segments(struct module *module, const struct proc_maps *maps, uint64_t start)
{
	const struct elf_view *elf = &module->elf;
	bool has_bias = false;

	for (unsigned i = 0; i < elf->header.e_phnum && !has_bias; i++) {
		const Elf64_Phdr *segment = &elf->segments[i];

		has_bias = segment->p_type == PT_LOAD && page_of(segment->p_offset) == 0;
		module->load_bias = start - page_of(segment->p_vaddr);
	}
	if (!has_bias)
		return false;
	module->start = module->text_low = UINT64_MAX;
	for (unsigned i = 0; i < elf->header.e_phnum; i++) {
		const Elf64_Phdr *segment = &elf->segments[i];
		uint64_t low = page_of(module->load_bias + segment->p_vaddr), high;
		const struct proc_map *map;

		if (segment->p_type != PT_LOAD || segment->p_memsz == 0)
			continue;
		if (low >= ARCH_USER_END || segment->p_memsz > ARCH_USER_END - low - HS_PAGE_SIZE)
			return false;
		high = page_up(module->load_bias + segment->p_vaddr + segment->p_memsz);
		if (low < module->start)
			module->start = low;
		if (high > module->end)
			module->end = high;
		if (!(segment->p_flags & PF_X))
			continue;
		map = proc_maps_find(maps, low);
		if (!map || !map->executable)
			return false;
		if (low < module->text_low)
			module->text_low = low;
		if (high > module->text_high)
			module->text_high = high;
		note_readable(module, maps, low, high);
	}
	if (module->text_high == 0)
		module->text_low = 0;
	return module->start < module->end;
}

static void deinit_unread(struct unread_module *unread)
{
	free(unread->path);
	free(unread->reason);
}

static void deinit_module(struct module *module)
{
	elf_view_deinit(&module->elf);
	search_table_deinit(&module->search);
	free(module->path);
}

// Takes over *module.
static struct hs_error *append_module(struct module_list *modules, size_t *room, struct module *module)
{
	if (ARRAY_RESERVE(modules->items, modules->count + 1, room)) {
		deinit_module(module);
		return &hs_error_no_memory;
	}
	modules->items[modules->count++] = *module;
	return NULL;
}

// While the target stands still, only what was read before.
static struct hs_error *open_view(const struct process *process, const struct proc_map *map,
				  const struct target_memory *memory, struct elf_view *ret)
{
	HS_CLEANUP_CLOSE int fd = -1;
	struct file_copy *known = standstill_is_on() ? file_cache_find(map) : NULL;
	struct hs_error *error;

	if (known)
		return elf_view_open_copy(known, ret);
	error = mapped_file_open(process, map, memory, &fd);
	if (!error)
		error = elf_view_open_fd(fd, ret);
	if (!error)
		file_cache_keep(map, ret->copy);
	return error;
}

// What says nothing of the module, and ends all reading.
static bool ends_reading(const struct hs_error *error)
{
	return error->code == HS_ERROR_NO_MEMORY || error->code == HS_ERROR_INTERRUPTED;
}

static struct hs_error *not_loaded(bool *is_none_ret)
{
	*is_none_ret = true;
	return hs_error_create(HS_ERROR_NOT_FOUND, "mapped, but not loaded as a program or library");
}

// Of memory, where the file cannot be had. One without code is none: nothing follows from what it has.
static struct hs_error *read_memory_module(const struct proc_maps *maps, const struct proc_map *map,
					   const struct target_memory *memory, struct module *ret, bool *is_none_ret)
{
	_Alignas(Elf64_Phdr) uint8_t page[HS_PAGE_SIZE];
	struct hs_error *error = target_memory_read(memory, map->start, page, sizeof(page));
	struct loaded_place place = { .maps = maps, .first = map };

	if (!error)
		error = elf_view_init(page, sizeof(page), &ret->elf);
	if (error)
		return error;
	if (place_segments(ret, maps, map->start) && ret->text_high != 0) {
		place.load_bias = ret->load_bias;
		place.start = ret->start;
		place.end = ret->end;
		error = memory_copy_view(&ret->elf, &place, memory, &ret->elf);
	} else {
		error = not_loaded(is_none_ret);
	}
	if (error) // nothing of `page` is to stay
		ret->elf = (struct elf_view){ 0 };
	else
		file_cache_keep(map, ret->elf.copy);
	return error;
}

// *is_none_ret: with an error, it is known not to be loaded.
static struct hs_error *read_file_module(const struct process *process, const struct proc_maps *maps,
					 const struct proc_map *map, const struct target_memory *memory,
					 struct module *ret, bool *is_none_ret)
{
	struct hs_error *error, *of_memory;

	*is_none_ret = false;
	*ret = (struct module){
		.deleted = map->deleted,
		.device = makedev(map->device_major, map->device_minor),
		.inode = map->inode,
	};
	error = open_view(process, map, memory, &ret->elf);
	if (!error && !place_segments(ret, maps, map->start)) {
		error = not_loaded(is_none_ret);
	} else if (error && !ends_reading(error) && !own_descriptors_lack(error) && !standstill_is_on()) {
		of_memory = read_memory_module(maps, map, memory, ret, is_none_ret);
		if (!of_memory)
			hs_verbose("%s at 0x%" PRIx64 " is read from memory: %s", map->name, map->start,
				   error->message);
		if (!of_memory || *is_none_ret || ends_reading(of_memory)) {
			hs_error_destroy(error);
			error = of_memory;
		} else {
			error = hs_error_join(error, of_memory);
		}
	}
	if (!error)
		error = hs_format(&ret->path, "%s", map->name);
	if (error)
		elf_view_deinit(&ret->elf);
	return error;
}

// The vdso has no file: the view is over a copy of its memory.
static struct hs_error *read_vdso(const struct proc_maps *maps, const struct proc_map *map,
				  const struct target_memory *memory, struct module *ret)
{
	size_t size = (size_t)(map->end - map->start);
	struct hs_error *error;
	void *copy;

	if (size > VDSO_SIZE_MAX)
		return hs_error_create(HS_ERROR_BAD_DATA, "larger than any vdso");
	copy = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (copy == MAP_FAILED)
		return hs_error_system(errno, "cannot get memory");
	*ret = (struct module){ .is_vdso = true };
	error = target_memory_read(memory, map->start, copy, size);
	if (!error)
		error = elf_view_init(copy, size, &ret->elf);
	if (error) {
		munmap(copy, size);
		return error;
	}
	ret->elf.mapped = true; // munmap on deinit
	if (!place_segments(ret, maps, map->start))
		error = hs_error_create(HS_ERROR_BAD_DATA, "program headers that do not fit its mapping");
	else
		error = hs_format(&ret->path, "[vdso]");
	if (error)
		elf_view_deinit(&ret->elf);
	return error;
}

static bool holds(const struct module *module, uint64_t address)
{
	return address >= module->start && address < module->end;
}

// A small object can map its first page twice: its data may lie in the same page of the file.
static bool belongs_to_last(const struct module_list *modules, const struct proc_map *map)
{
	const struct module *last = modules->count ? &modules->items[modules->count - 1] : NULL;

	return last && holds(last, map->start) && last->inode == map->inode &&
	       last->device == makedev(map->device_major, map->device_minor);
}

// What is mapped behind the file's first page, up to another file or to another mapping of its beginning.
static uint64_t end_of_file(const struct proc_maps *maps, const struct proc_map *first, bool *has_code_ret)
{
	const struct proc_map *map = first, *end = maps->items + maps->count;
	uint64_t high = first->end;

	*has_code_ret = first->executable;
	while (++map < end) {
		if (map->inode == 0) // of its own, as for variables that begin as 0, or of others
			continue;
		if (map->inode != first->inode || map->device_major != first->device_major ||
		    map->device_minor != first->device_minor || map->shared || (map->offset == 0 && *has_code_ret))
			break;
		*has_code_ret |= map->executable;
		high = map->end;
	}
	return high;
}

// Takes over `reason`. Without code nothing can be done by it, nor by what it does not say.
static struct hs_error *append_unread(struct module_list *modules, size_t *room, const struct proc_maps *maps,
				      const struct proc_map *map, const struct start_facts *facts,
				      struct hs_error *reason)
{
	struct unread_module unread = { .start = map->start };
	struct hs_error *error = NULL;
	bool has_code;

	unread.end = end_of_file(maps, map, &has_code);
	unread.is_loader = facts->loader >= unread.start && facts->loader < unread.end;
	hs_verbose("%s at 0x%" PRIx64 " %s: %s", map->name, map->start, has_code ? "cannot be read" : "is left out",
		   reason->message);
	if (has_code && !modules_find_unread(modules, map->start)) {
		error = hs_format(&unread.path, "%s", map->name);
		if (!error)
			error = hs_format(&unread.reason, "%s", reason->message);
		if (!error && ARRAY_RESERVE(modules->unread, modules->unread_count + 1, room))
			error = &hs_error_no_memory;
		if (error)
			deinit_unread(&unread);
		else
			modules->unread[modules->unread_count++] = unread;
	}
	hs_error_destroy(reason);
	return error;
}

static struct hs_error *read_all(const struct process *process, const struct proc_maps *maps,
				 const struct target_memory *memory, const struct start_facts *facts,
				 struct module_list *modules)
{
	struct hs_error *error = NULL;
	size_t room = 0, unread_room = 0;

	for (size_t i = 0; i < maps->count && !error; i++) {
		const struct proc_map *map = &maps->items[i];
		bool is_vdso = facts->vdso && map->start <= facts->vdso && facts->vdso < map->end;
		struct module module;
		bool is_none = is_vdso;

		// Loaders map privately; a shared mapping is a file or device that the program reads.
		if (!is_vdso && (map->inode == 0 || map->offset != 0 || map->shared || belongs_to_last(modules, map) ||
				 !may_be_elf(map, memory)))
			continue;
		error = is_vdso ? read_vdso(maps, map, memory, &module)
				: read_file_module(process, maps, map, memory, &module, &is_none);
		if (error && own_descriptors_lack(error)) // nothing can be said of the target then
			return own_descriptors_explain(error);
		if (error && !ends_reading(error) && is_none) {
			hs_verbose("%s at 0x%" PRIx64 " is left out: %s", map->name, map->start, error->message);
			hs_error_destroy(error);
			error = NULL;
			continue;
		}
		if (error && !ends_reading(error)) {
			error = append_unread(modules, &unread_room, maps, map, facts, error);
			continue;
		}
		if (!error) {
			module.is_go = !is_vdso && program_is_go(&module.elf);
			module.is_main = facts->program_headers && holds(&module, facts->program_headers);
			module.is_loader = facts->loader && holds(&module, facts->loader);
			error = append_module(modules, &room, &module);
		}
	}
	return error;
}

// A library without code is one only if the loader says so; else it is a file that the program reads.
static void drop_unlisted_data(struct module_list *modules)
{
	size_t kept = 0;

	for (size_t i = 0; i < modules->count; i++) {
		struct module *module = &modules->items[i];

		if (module->text_high == 0 && !module->link_map && !module->is_main)
			deinit_module(module);
		else
			modules->items[kept++] = *module;
	}
	modules->count = kept;
}

// Moves the executable to the front and keeps the order of the others. false = there is none.
static bool put_main_first(struct module_list *modules)
{
	for (size_t i = 0; i < modules->count; i++) {
		struct module main_module = modules->items[i];

		if (!main_module.is_main)
			continue;
		memmove(&modules->items[1], &modules->items[0], i * sizeof(main_module));
		modules->items[0] = main_module;
		return true;
	}
	return false;
}

// The memory that was opened before an exec has nothing any more: no file's mapping is known by it then
// (may_be_elf).
static struct hs_error *no_executable(const struct process *process, const struct proc_maps *maps,
				      const struct target_memory *memory, const struct start_facts *facts,
				      const struct module_list *modules)
{
	const struct unread_module *unread = modules_find_unread(modules, facts->program_headers);
	uint8_t byte;
	struct hs_error *error =
		maps->count ? target_memory_read(memory, maps->items[0].start, &byte, sizeof(byte)) : NULL;

	if (error && error->code == HS_ERROR_GONE)
		return error;
	hs_error_destroy(error);
	if (unread)
		return hs_error_create(HS_ERROR_BAD_DATA, "the executable of process %d cannot be read: %s",
				       (int)process->pid, unread->reason);
	return hs_error_create(HS_ERROR_BAD_DATA,
			       "the executable of process %d cannot be found among its %zu mappings: the kernel says "
			       "that its program headers are at 0x%" PRIx64,
			       (int)process->pid, maps->count, facts->program_headers);
}

struct hs_error *modules_read(const struct process *process, const struct proc_maps *maps,
			      const struct target_memory *memory, struct module_list *ret)
{
	struct module_list modules = { 0 };
	struct start_facts facts;
	struct hs_error *error = read_start_facts(process, &facts);

	if (!error)
		error = read_all(process, maps, memory, &facts, &modules);
	if (!error && !put_main_first(&modules))
		error = no_executable(process, maps, memory, &facts, &modules);
	if (error) {
		modules_deinit(&modules);
		return error;
	}
	modules.entry = facts.entry;
	link_map_read(memory, &modules);
	drop_unlisted_data(&modules);
	libc_symbols_read(&modules);
	*ret = modules;
	return NULL;
}

void modules_deinit(struct module_list *modules)
{
	for (size_t i = 0; i < modules->count; i++)
		deinit_module(&modules->items[i]);
	free(modules->items);
	for (size_t i = 0; i < modules->unread_count; i++)
		deinit_unread(&modules->unread[i]);
	free(modules->unread);
	*modules = (struct module_list){ 0 };
}

const struct unread_module *modules_find_unread(const struct module_list *modules, uint64_t address)
{
	for (size_t i = 0; i < modules->unread_count; i++)
		if (address >= modules->unread[i].start && address < modules->unread[i].end)
			return &modules->unread[i];
	return NULL;
}

static const struct proc_map *next_text(const struct proc_maps *maps, size_t *position)
{
	while (*position < maps->count) {
		const struct proc_map *map = &maps->items[(*position)++];

		if (map->executable && map->inode)
			return map;
	}
	return NULL;
}

bool modules_same_text(const struct proc_maps *before, const struct proc_maps *after)
{
	size_t left_position = 0, right_position = 0;

	for (;;) {
		const struct proc_map *left = next_text(before, &left_position);
		const struct proc_map *right = next_text(after, &right_position);

		if (!left || !right)
			return left == right;
		if (left->start != right->start || left->end != right->end || left->offset != right->offset ||
		    left->inode != right->inode || left->device_major != right->device_major ||
		    // a write into a shared one goes to the file
		    left->device_minor != right->device_minor || left->shared != right->shared)
			return false;
	}
}
