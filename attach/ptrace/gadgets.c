// SPDX-License-Identifier: Apache-2.0
#include "attach/ptrace/gadgets.h"

#include "attach/elf/file_pages.h"
#include "attach/guard/interrupt.h"
#include "attach/guard/refused_reads.h"
#include "attach/ptrace/memory_write.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/pagemap.h"
#include "base/test_variable.h"
#include "inject/abi/page.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CHUNK_SIZE    65536
#define CODE_MAX      16
#define REST_SEARCHED (16 << 20) // bytes, for what calls can be made without: a target stands still meanwhile

size_t gadget_offset(const uint8_t *bytes, size_t size, const struct arch_code *codes)
{
	size_t best = SIZE_MAX;

	for (; codes->size > 0; codes++) {
		const uint8_t *found = memmem(bytes, size, codes->bytes, codes->size);

		if (found && (size_t)(found - bytes) < best)
			best = (size_t)(found - bytes);
	}
	return best;
}

// In which order mappings are searched: what is never unloaded first, and of that the small first; what is large last.
// -1 = not at all.
static int search_rank(const struct proc_map *map)
{
	const char *base = strrchr(map->name, '/');

	if (!map->executable || map->writable)
		return -1;
	if (strcmp(map->name, "[vdso]") == 0)
		return 0;
	if (map->inode == 0 || strncmp(map->name, "/memfd:", 7) == 0)
		return -1;
	// musl's C library is its loader.
	if (base && strncmp(base, "/ld-", 4) == 0)
		return 0;
	if (base && (strncmp(base, "/libc.", 6) == 0 || strncmp(base, "/libc-", 6) == 0))
		return 1;
	return map->end - map->start <= REST_SEARCHED ? 2 : 3;
}

// Enough to make calls with.
static bool is_usable(const struct gadgets *gadgets) { return gadgets->syscall_gadget && gadgets->sigreturn_gadget; }

static bool is_complete(const struct gadgets *gadgets) { return is_usable(gadgets) && gadgets->leave_gadget; }

struct search {
	const struct target_memory *memory;
	uint8_t *buffer; // of a chunk, and what code needs behind it
	struct gadgets *found;
	bool may_be_absent; // something was not read, as it is not in memory
	size_t left;        // bytes that may be read once calls can be made
};

static void note(uint64_t *gadget, const struct search *search, uint64_t at, size_t size, const struct arch_code *codes)
{
	const size_t offset = *gadget ? SIZE_MAX : gadget_offset(search->buffer, size, codes);

	if (offset != SIZE_MAX)
		*gadget = at + offset;
}

// What is left to be found is better, and not needed.
static bool is_enough(const struct gadgets *gadgets)
{
	return gadgets->syscall_gadget && (gadgets->sigreturn_gadget || gadgets->pop_gadget);
}

static bool is_done(const struct search *search)
{
	return is_complete(search->found) || (is_enough(search->found) && search->left == 0);
}

static struct hs_error *search_map(struct search *search, const struct proc_map *map)
{
	struct gadgets *found = search->found;

	for (uint64_t at = map->start; at < map->end && !is_done(search); at += CHUNK_SIZE) {
		// Chunks overlap, so that no code is missed at a border.
		uint64_t left = map->end - at;
		size_t size = left < CHUNK_SIZE + CODE_MAX ? (size_t)left : CHUNK_SIZE + CODE_MAX;
		struct hs_error *error = interrupt_check();

		if (error)
			return error;
		if (is_enough(found))
			search->left -= search->left < CHUNK_SIZE ? search->left : CHUNK_SIZE;
		error = target_memory_read(search->memory, at, search->buffer, size);
		if (error) {
			const bool is_absent = error->code == HS_ERROR_REFUSED;

			hs_error_destroy(error);
			if (!is_absent)
				return NULL;
			search->may_be_absent = true;
			continue;
		}
		note(&found->syscall_gadget, search, at, size, arch_syscall_gadgets);
		note(&found->sigreturn_gadget, search, at, size, arch_sigreturn_gadgets);
		note(&found->leave_gadget, search, at, size, arch_leave_gadgets);
		note(&found->pop_gadget, search, at, size, arch_pop_gadgets);
	}
	return NULL;
}

// What was met on the way serves where nothing better is found.
static bool settle(struct gadgets *gadgets, bool no_sigreturn)
{
	if (no_sigreturn)
		gadgets->sigreturn_gadget = 0;
	if (gadgets->sigreturn_gadget)
		gadgets->pop_gadget = 0;
	else if (gadgets->pop_gadget)
		gadgets->sigreturn_gadget = gadgets->syscall_gadget;
	return is_usable(gadgets);
}

struct hs_error *gadgets_find(const struct proc_maps *maps, const struct target_memory *memory, struct gadgets *ret,
			      bool *found_ret)
{
	HS_CLEANUP_FREE uint8_t *buffer = malloc(CHUNK_SIZE + CODE_MAX);
	struct search search = { .memory = memory, .buffer = buffer, .found = ret, .left = REST_SEARCHED };
	// "1": none at all; "sigreturn": only those
	const char *forbidden = hs_test_variable("HEAPSNAP_TEST_NO_GADGETS");
	bool no_sigreturn = forbidden && strcmp(forbidden, "sigreturn") == 0;
	struct hs_error *error = NULL;

	*ret = (struct gadgets){ 0 };
	*found_ret = false;
	if (!buffer)
		return &hs_error_no_memory;
	if (forbidden && strcmp(forbidden, "1") == 0)
		return NULL;
	for (int rank = 0; rank <= 3 && !error; rank++) {
		for (size_t i = 0; i < maps->count && !error; i++) {
			if (search_rank(&maps->items[i]) == rank)
				error = search_map(&search, &maps->items[i]);
		}
		if (is_complete(ret) && !no_sigreturn)
			break;
	}
	if (!error && search.may_be_absent && !is_complete(ret))
		error = refused_reads_error();
	*found_ret = settle(ret, no_sigreturn);
	return error;
}

static struct hs_error *read_entry_address(const struct process *process, uint64_t *ret)
{
	static const uint64_t type = AT_ENTRY;
	struct hs_error *error = process_auxv(process, &type, 1, ret);

	if (error || *ret != 0)
		return error;
	return hs_error_create(HS_ERROR_NOT_FOUND, "process %d does not tell its entry point (AT_ENTRY)",
			       (int)process->pid);
}

// Whether the page is the file's own. Unsure counts as no.
static bool page_is_clean(const struct process *process, uint64_t address)
{
	HS_CLEANUP_CLOSE int fd = process_openat(process, "pagemap", O_RDONLY);
	struct hs_error *error;
	uint64_t entry;

	if (fd < 0)
		return false;
	error = hs_pread_exact(fd, &entry, sizeof(entry), address / HS_PAGE_SIZE * sizeof(entry));
	if (error) {
		hs_error_destroy(error);
		return false;
	}
	return entry & PAGEMAP_PRESENT ? (entry & PAGEMAP_FILE) != 0 : !(entry & PAGEMAP_SWAPPED);
}

// The page at the entry point, as the program's file has it.
static struct hs_error *read_file_page(const struct proc_maps *maps, const struct target_memory *memory,
				       const struct file_pages *files, uint64_t page, uint8_t *ret)
{
	const struct proc_map *map = proc_maps_find(maps, page);
	const struct file_page *known = map ? file_pages_find(files, map, page) : NULL;
	struct file_pages read = { 0 };
	struct hs_error *error = NULL;

	if (!map)
		return hs_error_create(HS_ERROR_BAD_DATA, "the entry point of process %d is not mapped",
				       (int)memory->process->pid);
	if (!known) {
		error = refused_reads_file();
		if (error)
			return error;
		file_pages_read_entry(maps, memory, page, &read);
		known = file_pages_find(&read, map, page);
	}
	if (known && known->size == HS_PAGE_SIZE)
		memcpy(ret, known->bytes, HS_PAGE_SIZE);
	else
		error = hs_error_create(HS_ERROR_BAD_DATA, "the program of process %d cannot be read",
					(int)memory->process->pid);
	file_pages_deinit(&read);
	return error;
}

// A tool that was killed leaves its code at the entry point. What was there before stands in the file; the page is put
// back to the file's own if it differs in nothing else.
static struct hs_error *recover_old_bytes(const struct target_memory *memory, const struct file_pages *files,
					  struct entry_patch *patch)
{
	uint8_t of_file[HS_PAGE_SIZE], of_memory[HS_PAGE_SIZE];
	uint64_t page = page_of(patch->address);
	size_t offset = (size_t)(patch->address - page);
	struct proc_maps maps = { 0 };
	struct hs_error *error = proc_maps_read(memory->process, &maps);

	if (error)
		return error;
	error = read_file_page(&maps, memory, files, page, of_file);
	proc_maps_deinit(&maps);
	if (!error)
		error = target_memory_read(memory, page, of_memory, sizeof(of_memory));
	if (error)
		return error;
	memcpy(patch->old_bytes, of_file + offset, sizeof(patch->old_bytes));
	memcpy(of_memory + offset, of_file + offset, sizeof(patch->old_bytes));
	patch->page_was_clean = memcmp(of_file, of_memory, sizeof(of_file)) == 0;
	return NULL;
}

void gadgets_prepare(const struct proc_maps *maps, const struct target_memory *memory, struct file_pages *pages)
{
	struct gadgets found;
	uint64_t entry;
	bool is_found;
	struct hs_error *error = read_entry_address(memory->process, &entry);

	if (!error)
		file_pages_read_entry(maps, memory, entry, pages);
	hs_error_destroy(error);
	hs_error_destroy(gadgets_find(maps, memory, &found, &is_found));
}

static struct hs_error *refuse_thread_at(const struct frozen_process *frozen, uint64_t address)
{
	for (size_t i = 0; i < frozen->count; i++)
		if (registers_pc(&frozen->threads[i].registers) - address < ARCH_ENTRY_CODE_SIZE)
			return hs_error_create(
				HS_ERROR_REFUSED,
				"process %d is at its entry point (only just started, or on its way back from a killed heapsnap): try again",
				(int)frozen->process->pid);
	return NULL;
}

struct hs_error *entry_patch_apply(const struct frozen_process *frozen, const struct target_memory *memory,
				   pid_t stopped_tid, struct entry_patch *ret)
{
	struct entry_patch patch = { 0 };
	struct hs_error *error;

	error = read_entry_address(frozen->process, &patch.address);
	if (error)
		return error;
	if (page_of(patch.address) != page_of(patch.address + ARCH_ENTRY_CODE_SIZE - 1))
		return hs_error_create(
			HS_ERROR_REFUSED,
			"process %d has no code that a system call can be made with, and its entry point is split by a page",
			(int)frozen->process->pid);
	error = refuse_thread_at(frozen, patch.address);
	if (error)
		return error;
	error = target_memory_read(memory, patch.address, patch.old_bytes, sizeof(patch.old_bytes));
	if (error)
		return error;
	patch.page_was_clean = page_is_clean(frozen->process, patch.address);
	if (memcmp(patch.old_bytes, arch_entry_code, sizeof(arch_entry_code)) == 0) {
		error = recover_old_bytes(memory, frozen->files, &patch);
		if (error)
			return error;
	}
	*ret = patch; // from here on there may be something to undo
	return target_memory_write(memory, patch.address, arch_entry_code, sizeof(arch_entry_code), stopped_tid);
}

struct hs_error *entry_patch_undo(struct entry_patch *patch, const struct target_memory *memory, pid_t stopped_tid)
{
	struct hs_error *error;

	if (patch->address == 0)
		return NULL;
	error = target_memory_write(memory, patch->address, patch->old_bytes, sizeof(patch->old_bytes), stopped_tid);
	if (!error)
		patch->address = 0;
	return error;
}

static struct hs_error *read_entry(const struct target_memory *memory, struct entry_patch *ret,
				   uint8_t now[ARCH_ENTRY_CODE_SIZE])
{
	struct hs_error *error;

	*ret = (struct entry_patch){ 0 };
	error = read_entry_address(memory->process, &ret->address);
	// of what is patched there is a private copy
	return error ? error : target_memory_read_resident(memory, ret->address, now, ARCH_ENTRY_CODE_SIZE);
}

// HS_ERROR_NOT_FOUND when nothing is left there. Else what to put back.
static struct hs_error *find_left(const struct target_memory *memory, const struct file_pages *files,
				  struct entry_patch *ret)
{
	uint8_t now[ARCH_ENTRY_CODE_SIZE];
	struct hs_error *error = read_entry(memory, ret, now);

	if (!error && memcmp(now, arch_entry_code, sizeof(now)) == 0)
		error = recover_old_bytes(memory, files, ret);
	if (!error && memcmp(now, arch_entry_code, sizeof(now)) == 0 && memcmp(now, ret->old_bytes, sizeof(now)) != 0)
		return NULL;
	hs_error_destroy(error);
	return hs_error_create(HS_ERROR_NOT_FOUND, "nothing of heapsnap is left at the entry point of process %d",
			       (int)memory->process->pid);
}

bool entry_patch_is_left(const struct target_memory *memory, const struct file_pages *files)
{
	struct entry_patch patch;
	struct hs_error *error = find_left(memory, files, &patch);

	hs_error_destroy(error);
	return !error;
}

struct hs_error *entry_patch_remove_left(const struct frozen_process *frozen, const struct target_memory *memory,
					 pid_t stopped_tid, uint64_t *page_ret)
{
	struct entry_patch patch;
	struct hs_error *error = find_left(memory, frozen->files, &patch);

	*page_ret = 0;
	if (error)
		return error;
	error = refuse_thread_at(frozen, patch.address);
	if (error)
		return error;
	if (patch.page_was_clean)
		*page_ret = page_of(patch.address);
	return entry_patch_undo(&patch, memory, stopped_tid);
}

uint64_t entry_patch_left_copy(const struct target_memory *memory, const struct file_pages *files)
{
	uint8_t now[ARCH_ENTRY_CODE_SIZE];
	struct entry_patch patch;
	struct hs_error *error = read_entry(memory, &patch, now);

	if (!error && page_is_clean(memory->process, patch.address))
		return 0;
	if (!error)
		error = recover_old_bytes(memory, files, &patch);
	if (error) {
		hs_error_destroy(error);
		return 0;
	}
	return patch.page_was_clean && memcmp(now, patch.old_bytes, sizeof(now)) == 0 ? page_of(patch.address) : 0;
}
