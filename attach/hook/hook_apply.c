// SPDX-License-Identifier: Apache-2.0
#include "attach/hook/hook_apply.h"

#include "attach/elf/file_pages.h"
#include "attach/elf/mapped_file.h"
#include "attach/guard/interrupt.h"
#include "attach/ptrace/frozen_maps.h"
#include "attach/ptrace/memory_write.h"
#include "attach/ptrace/ptrace_call.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/log.h"
#include "base/pagemap.h"
#include "base/proc_maps.h"
#include "inject/abi/live_table.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

// include/uapi/asm-generic/mman-common.h, since Linux 5.18; newer than the C library's headers.
#define HS_MADV_DONTNEED_LOCKED 24

// A patch of five bytes may cross into the next page.
static uint64_t last_page_of(const struct hook_record *hook) { return page_of(hook->address + hook->size - 1u); }

static struct hs_error *page_is_clean(int pagemap, uint64_t page, bool *ret)
{
	uint64_t entry;
	struct hs_error *error = hs_pread_exact(pagemap, &entry, sizeof(entry), page / HS_PAGE_SIZE * sizeof(entry));

	if (error)
		return hs_error_prefix(error, "cannot read the target's page map");
	*ret = !(entry & PAGEMAP_SWAPPED) && (!(entry & PAGEMAP_PRESENT) || (entry & PAGEMAP_FILE));
	return NULL;
}

struct hs_error *hook_note_clean_pages(const struct process *process, struct hook_record *hooks, size_t count)
{
	HS_CLEANUP_CLOSE int pagemap = -1;
	struct hs_error *error = target_pagemap_open(process, &pagemap);

	if (error)
		return error;
	for (size_t i = 0; i < count; i++) {
		bool first = true, last = true;

		if (hooks[i].verdict != VERDICT_ok)
			continue;
		if (pagemap >= 0) { // without it every copy that equals its file is dropped, be it older than ours
			error = page_is_clean(pagemap, page_of(hooks[i].address), &first);
			if (!error)
				error = page_is_clean(pagemap, last_page_of(&hooks[i]), &last);
			if (error)
				return error;
		}
		hooks[i].page_was_clean = first && last;
	}
	return NULL;
}

static void say_hooks(const struct hook_record *hooks, size_t count)
{
	uint64_t seen[(UINT16_MAX + 1) / 64] = { 0 }; // a bit for each module
	size_t written = 0, modules = 0;

	for (size_t i = 0; i < count; i++) {
		const uint64_t bit = UINT64_C(1) << (hooks[i].module % 64);
		uint64_t *word = &seen[hooks[i].module / 64];

		if (hooks[i].verdict != VERDICT_ok)
			continue;
		modules += !(*word & bit);
		*word |= bit;
		written++;
	}
	hs_verbose("hooks: %zu written in %zu module%s", written, modules, modules == 1 ? "" : "s");
}

struct hs_error *hook_apply(struct hook_record *hooks, size_t count, const struct target_memory *memory,
			    pid_t stopped_tid, struct hs_error *(*save)(const struct hook_record *, size_t, void *),
			    void *context)
{
	for (size_t i = 0; i < count; i++) {
		uint8_t now[sizeof(hooks[i].old_bytes)];
		struct hs_error *error;

		if (hooks[i].verdict != VERDICT_ok)
			continue;
		error = fault_point("write a hook");
		if (!error)
			error = target_memory_read(memory, hooks[i].address, now, hooks[i].size);
		if (!error && memcmp(now, hooks[i].old_bytes, hooks[i].size) != 0)
			error = hs_error_create(HS_ERROR_REFUSED,
						"the code of %s changed while it was examined; try again",
						hooks[i].name);
		if (error)
			return error;
		hooks[i].state = HOOK_APPLIED;
		error = save(&hooks[i], i, context);
		if (!error)
			error = target_memory_write(memory, hooks[i].address, hooks[i].new_bytes, hooks[i].size,
						    stopped_tid);
		if (error)
			return hs_error_prefix(error, "cannot hook %s", hooks[i].name);
	}
	say_hooks(hooks, count);
	return NULL;
}

bool hook_thread_is_inside(const struct hook_plan *plan, const struct frozen_thread *thread)
{
	for (size_t h = 0; h < plan->count; h++) {
		const struct hook_record *record = &plan->hooks[h].record;
		uint64_t offset = registers_pc(&thread->registers) - record->address;

		if (record->verdict == VERDICT_ok && offset > 0 && offset < record->covered)
			return true;
	}
	return false;
}

// The pc of the same instruction in the trampoline, or, `back`, in the function. 0 = the pc is in neither.
static uint64_t moved_pc(const struct planned_hook *hook, uint64_t pc, bool back)
{
	uint64_t trampoline = hook->record.island + HS_ISLAND_TRAMPOLINE_OFFSET;

	for (size_t i = 0; i < hook->relocation.instruction_count; i++) {
		uint64_t in_function = hook->record.address + hook->relocation.from[i];
		uint64_t in_trampoline = trampoline + hook->relocation.to[i];

		if (hook->relocation.from[i] == 0)
			continue;
		if (pc == (back ? in_trampoline : in_function))
			return back ? in_function : in_trampoline;
	}
	return 0;
}

static struct hs_error *move_thread(const struct hook_plan *plan, struct frozen_thread *thread, bool back)
{
	for (size_t h = 0; h < plan->count; h++) {
		uint64_t pc;

		if (plan->hooks[h].record.verdict != VERDICT_ok)
			continue;
		pc = moved_pc(&plan->hooks[h], registers_pc(&thread->registers), back);
		if (!pc)
			continue;
		registers_set_pc(&thread->registers, pc);
		return ptrace_set_registers(thread->tid, &thread->registers);
	}
	return NULL;
}

struct hs_error *hook_move_threads(const struct hook_plan *plan, struct frozen_process *frozen)
{
	for (size_t i = 0; i < frozen->count; i++) {
		struct hs_error *error = interrupt_check();

		if (!error)
			error = move_thread(plan, &frozen->threads[i], false);
		if (error)
			return error;
	}
	return NULL;
}

struct hs_error *hook_move_threads_back(const struct hook_plan *plan, struct frozen_process *frozen)
{
	struct hs_error *errors = NULL;

	for (size_t i = 0; i < frozen->count; i++)
		errors = hs_error_join(errors, move_thread(plan, &frozen->threads[i], true));
	return errors;
}

// Up to the end of a page. What was read before the target was stopped, if it was; else the file is read.
static struct hs_error *read_of_file(const struct proc_map *map, const struct target_memory *memory,
				     const struct file_pages *files, uint64_t address, size_t size, uint8_t *ret)
{
	const struct file_page *page = file_pages_find(files, map, address);
	HS_CLEANUP_CLOSE int fd = -1;
	struct hs_error *error;
	ssize_t got;

	if (page) {
		memcpy(ret, page->bytes + (address - page->address), size);
		return NULL;
	}
	error = mapped_file_open(memory->process, map, memory, &fd);
	if (error)
		return error;
	memset(ret, 0, size);
	got = pread(fd, ret, size, (off_t)(map->offset + (address - map->start)));
	return got > 0 ? NULL : hs_error_system(got < 0 ? errno : ENODATA, "cannot read %s", map->name);
}

// Whether up to a page of a private file mapping holds what its file holds.
static struct hs_error *compare_with_file(const struct proc_map *map, const struct target_memory *memory,
					  const struct file_pages *files, uint64_t address, size_t size, bool *same_ret)
{
	uint8_t in_memory[HS_PAGE_SIZE], in_file[HS_PAGE_SIZE];
	size_t left = (size_t)(page_of(address) + HS_PAGE_SIZE - address), first = size < left ? size : left;
	struct hs_error *error = read_of_file(map, memory, files, address, first, in_file);

	*same_ret = false;
	if (!error && first < size)
		error = read_of_file(map, memory, files, address + first, size - first, in_file + first);
	if (!error)
		error = target_memory_read(memory, address, in_memory, size);
	if (error)
		return error;
	*same_ret = memcmp(in_memory, in_file, size) == 0;
	return NULL;
}

// Whether a record names code of the target's: its region lies in its memory, and may say anything.
static bool is_sound(const struct hook_record *hook)
{
	return hook->size > 0 && hook->size <= sizeof(hook->new_bytes) &&
	       hook->address < (UINT64_C(1) << HS_ADDRESS_BITS) - hook->size;
}

// The mappings, read when they are first asked for: of a journal with many records whose bytes are another's, each
// would read them while the target stands.
struct undo_maps {
	struct proc_maps maps;
	bool was_read, is_there;
};

static const struct proc_maps *undo_maps_get(struct undo_maps *maps, const struct process *process)
{
	if (!maps->was_read) {
		struct hs_error *error = proc_maps_read(process, &maps->maps);

		maps->was_read = true;
		maps->is_there = !error;
		hs_error_destroy(error);
	}
	return maps->is_there ? &maps->maps : NULL;
}

static void undo_maps_deinit(struct undo_maps *maps)
{
	if (maps->is_there)
		proc_maps_deinit(&maps->maps);
}

// Whether the bytes at the place of a hook are those of a file: another module is mapped there now.
static bool is_of_file(const struct hook_record *hook, const struct proc_maps *maps, const struct target_memory *memory,
		       const struct file_pages *files)
{
	const struct proc_map *map = maps ? proc_maps_find(maps, hook->address) : NULL;
	struct hs_error *error;
	bool same = false;

	if (!map || map->inode == 0 || hook->size > map->end - hook->address)
		return false;
	error = compare_with_file(map, memory, files, hook->address, hook->size, &same);
	hs_error_destroy(error);
	return same;
}

static bool is_unmapped(const struct hook_record *hook, const struct proc_maps *maps)
{
	return maps && maps->count > 0 && !proc_maps_find(maps, hook->address);
}

bool hook_place_is_gone(const struct hook_record *hook, const struct target_memory *memory)
{
	struct undo_maps maps = { 0 };
	const bool gone = is_unmapped(hook, undo_maps_get(&maps, memory->process));

	undo_maps_deinit(&maps);
	return gone;
}

struct hs_error *hook_undo(struct hook_record *hooks, size_t count, const struct target_memory *memory,
			   const struct frozen_process *frozen,
			   struct hs_error *(*save)(const struct hook_record *, size_t, void *), void *context,
			   size_t *foreign_ret)
{
	struct hs_error *errors = NULL;
	struct undo_maps maps = { 0 };

	*foreign_ret = 0;
	for (size_t i = count; i-- > 0;) {
		uint8_t now[sizeof(hooks[i].old_bytes)];
		struct hs_error *error;

		if (hooks[i].state != HOOK_APPLIED || !is_sound(&hooks[i]))
			continue;
		error = target_memory_read(memory, hooks[i].address, now, hooks[i].size);
		if (error && is_unmapped(&hooks[i], undo_maps_get(&maps, memory->process))) {
			// Its module has been unloaded.
			hs_error_destroy(error);
			error = NULL;
		} else if (!error && memcmp(now, hooks[i].new_bytes, hooks[i].size) == 0) {
			error = target_memory_write(memory, hooks[i].address, hooks[i].old_bytes, hooks[i].size,
						    frozen->threads[0].tid);
		} else if (!error && memcmp(now, hooks[i].old_bytes, hooks[i].size) != 0 &&
			   !is_of_file(&hooks[i], undo_maps_get(&maps, memory->process), memory, frozen->files)) {
			hs_verbose("0x%" PRIx64
				   " (%s) holds neither the hook's bytes nor the original ones: left alone",
				   hooks[i].address, hooks[i].name);
			(*foreign_ret)++;
			continue;
		}
		if (!error) {
			hooks[i].state = HOOK_REMOVED;
			error = save(&hooks[i], i, context);
		}
		if (error)
			errors = hs_error_join(errors,
					       hs_error_prefix(error, "cannot remove the hook of %s", hooks[i].name));
	}
	undo_maps_deinit(&maps);
	return errors;
}

// *kept_ret: the copy, if there is one, stays, because it or its file could not be looked at.
static struct hs_error *drop_page(uint64_t page, const struct proc_maps *maps, struct remote_caller *caller,
				  bool *kept_ret)
{
	const struct proc_map *map = proc_maps_find(maps, page);
	uint64_t arguments[6] = { page, HS_PAGE_SIZE, MADV_DONTNEED };
	struct hs_error *error;
	int64_t result;
	bool same;

	*kept_ret = false;
	// Some programs make their code writable for a while: what it holds decides.
	if (!map || map->shared || map->inode == 0 || !map->executable)
		return NULL;
	switch (target_memory_residence(caller->memory, page, HS_PAGE_SIZE)) {
	case RESIDENCE_ABSENT:
		return NULL; // no copy, or it was dropped for another hook
	case RESIDENCE_UNKNOWN:
		*kept_ret = true;
		return NULL;
	case RESIDENCE_THERE:
		break;
	}
	error = compare_with_file(map, caller->memory, caller->frozen->files, page, HS_PAGE_SIZE, &same);
	if (error) {
		hs_verbose("%s", error->message);
		hs_error_destroy(error);
		*kept_ret = true;
		return NULL;
	}
	if (!same)
		return NULL;
	error = remote_call(caller, SYS_madvise, arguments, &result);
	if (!error && result == -EINVAL) { // locked memory (mlockall)
		arguments[2] = HS_MADV_DONTNEED_LOCKED;
		error = remote_call(caller, SYS_madvise, arguments, &result);
	}
	// Kernels before 5.18 cannot: the copy stays, and holds what the file holds.
	if (!error && result < 0)
		hs_verbose("the copied page at 0x%" PRIx64 " stays: errno %d", page, (int)-result);
	return error;
}

struct hs_error *hook_drop_copies(const struct hook_record *hooks, size_t count, struct remote_caller *caller)
{
	struct hs_error *errors = NULL;
	const struct proc_maps *maps;
	struct hs_error *error = frozen_maps(caller->frozen, &maps);
	uint64_t dropped = 0;
	size_t kept_count = 0;

	if (error)
		return error;
	for (size_t i = 0; i < count; i++) {
		if (!hooks[i].page_was_clean || hooks[i].state != HOOK_REMOVED || !is_sound(&hooks[i]))
			continue;
		// So many no heapsnap of this version writes: what the target has put there must not hold it up.
		error = i < HS_HOOKS_MAX ? NULL : interrupt_check();
		if (error)
			return hs_error_join(errors, error);
		for (uint64_t page = page_of(hooks[i].address); page <= last_page_of(&hooks[i]); page += HS_PAGE_SIZE) {
			bool kept;

			if (page == dropped) // neighbours in the list often share their page
				continue;
			dropped = page;
			errors = hs_error_join(errors, drop_page(page, maps, caller, &kept));
			kept_count += kept;
		}
	}
	// a target that died has no copies
	if (kept_count > 0 && proc_maps_memory(caller->memory->process) != MEMORY_GONE)
		hs_warn("the code is as it was, but private copies of its pages stay (%zu), because they or their files cannot be read",
			kept_count);
	return errors;
}
