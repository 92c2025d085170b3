// SPDX-License-Identifier: Apache-2.0
// The ELF objects loaded in a process, from its maps and files.
#ifndef HEAPSNAP_ATTACH_ELF_MODULES_H
#define HEAPSNAP_ATTACH_ELF_MODULES_H

#include "attach/elf/elf_view.h"
#include "attach/elf/search_table.h"
#include "attach/process/memory.h"
#include "base/error.h"
#include "base/proc_maps.h"
#include "base/process.h"
#include "inject/abi/payload_header.h"

struct module {
	char *path; // as the target's maps say, without " (deleted)"; "[vdso]" for the vdso; owned
	bool deleted;
	bool is_main; // the executable (holds AT_PHDR)
	bool is_vdso;
	bool is_loader;                       // the dynamic loader (AT_BASE)
	uint64_t load_bias;                   // address = load_bias + p_vaddr
	uint64_t start, end;                  // span of its load segments in memory, page aligned
	uint64_t text_low, text_high;         // span of its executable segments in memory
	uint64_t readable_low, readable_high; // the longest of these, as far as it can be read
	uint64_t device, inode;
	bool is_go;                 // holds a Go runtime
	struct search_table search; // of a module without .eh_frame_hdr (search_tables_make)
	struct elf_view elf; // of the file, or of memory: of the vdso, and where there is no file (memory_copy.h)
	uint64_t link_map;   // address of its struct link_map in the target; 0 = the loader does not list it
	size_t link_order;   // position in the loader's main list, from 1, by which symbols are found; 0 = not in it
};

// One that is loaded, of which neither the file nor the memory can be read as a whole. What it defines and asks for may
// be anything: nothing may be concluded from what the others lack.
struct unread_module {
	char *path; // as the target's maps say
	char *reason;
	uint64_t start, end; // what of it is mapped
	bool is_loader;
	size_t link_order; // as a module's
};

struct module_list {
	struct module *items; // the main executable first, then by address
	size_t count;
	struct unread_module *unread; // by address
	size_t unread_count;
	uint64_t r_debug;      // address of the loader's struct r_debug; 0 = none (static program)
	uint64_t loader_event; // address of the function that the loader calls when its list changes (r_debug.r_brk); 0
			       // = none
	enum libc_kind libc;
	uint64_t tid_offset; // from the thread pointer to the u32 kernel thread id (glibc: _thread_db_pthread_tid); 0 =
			     // unknown
	uint64_t tcb_size;   // bytes of the thread control block (glibc: _thread_db_sizeof_pthread), or of its known
			     // part; 0 = unknown
	uint64_t entry;      // AT_ENTRY
};

// Reads without stopping the target. What is mapped and is no ELF file of this processor, or is not loaded as one, is
// left out with a hs_verbose line. A module with code that cannot be read is among the unread ones.
struct hs_error *modules_read(const struct process *process, const struct proc_maps *maps,
			      const struct target_memory *memory, struct module_list *ret) HS_MUST_CHECK;
void modules_deinit(struct module_list *modules);
// The unread one that holds this address. NULL = none.
const struct unread_module *modules_find_unread(const struct module_list *modules, uint64_t address);

// Pure: whether two readings of the maps have the same executable file mappings (address, size, offset, file, private
// or shared).
bool modules_same_text(const struct proc_maps *before, const struct proc_maps *after);

#endif
