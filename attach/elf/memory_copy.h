// SPDX-License-Identifier: Apache-2.0
// What of a module's file lies in the target's memory: for a file that cannot be had (replaced, removed, unreadable, in
// another mount namespace). It is as good as the file, as far as it goes. A page of a private mapping that the page map
// calls the file's own has never been written to since it was mapped, by no program and by no debugger: it is what the
// file has there. Nothing else is taken but PT_DYNAMIC, by which the loader itself has found everything.
#ifndef HEAPSNAP_ATTACH_ELF_MEMORY_COPY_H
#define HEAPSNAP_ATTACH_ELF_MEMORY_COPY_H

#include "attach/elf/elf_view.h"
#include "attach/process/memory.h"
#include "base/error.h"
#include "base/proc_maps.h"

// Where a module lies; address = load_bias + p_vaddr.
struct loaded_place {
	const struct proc_maps *maps;
	const struct proc_map *first; // the mapping of the file's first page
	uint64_t load_bias, start, end;
};

// `headers`: a view of no more than the first page. On success *ret is a view of all segments that are not writable,
// and of PT_DYNAMIC as the file has it; of no section, so of no symbol but those that the loader sees. An error where a
// page of these segments is not the file's own (or the kernel has no page map), or where symbols, names or relocations
// lie elsewhere: never a part of it.
struct hs_error *memory_copy_view(const struct elf_view *headers, const struct loaded_place *place,
				  const struct target_memory *memory, struct elf_view *ret) HS_MUST_CHECK;

// Pure: makes of PT_DYNAMIC in memory what the file has: glibc's loader adds the load bias to the addresses in it
// (_dl_relocate_ld in sysdeps/generic/ldsodefs.h, elf/get-dynamic-info.h), musl's does not. False: it cannot be told
// which of the two was done.
bool memory_copy_undo_bias(uint8_t *entries, uint64_t size, const struct loaded_place *place);

// Pure: whether this entry of the page map says that the page is there, and the file's own.
bool memory_copy_is_files_own(uint64_t pagemap_entry);

#endif
