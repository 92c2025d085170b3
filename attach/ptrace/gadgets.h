// SPDX-License-Identifier: Apache-2.0
// Code of the target's own that a remote call can use, or as a last resort, such code written at its entry point.
#ifndef HEAPSNAP_ATTACH_PTRACE_GADGETS_H
#define HEAPSNAP_ATTACH_PTRACE_GADGETS_H

#include "attach/arch/gadget_code.h"
#include "attach/process/memory.h"
#include "attach/ptrace/threads.h"
#include "base/error.h"
#include "base/proc_maps.h"
#include "base/process.h"

#include <stdbool.h>

struct gadgets {
	uint64_t syscall_gadget;
	uint64_t sigreturn_gadget;
	uint64_t leave_gadget; // 0 = none was met
	// 0 = not needed; else sigreturn_gadget is a bare system call, and this one comes before it
	uint64_t pop_gadget;
};

// Pure: the offset of the first of `codes` in the bytes; SIZE_MAX = none.
size_t gadget_offset(const uint8_t *bytes, size_t size, const struct arch_code *codes);

// Looks through the executable file mappings, the loader's and the C library's first. A program that handles no signals
// may have no code for rt_sigreturn (musl's static ones are linked without it): then its number is popped from the
// stack. *found_ret: false = not even that is found. Once what calls need is found, the search for the rest is bounded.
// Mappings of memfds (a payload's) are left out: a caller that uses those says so. HS_ERROR_REFUSED: what was not met
// may lie in a page that is not in memory (refused_reads_page); HS_ERROR_INTERRUPTED.
struct hs_error *gadgets_find(const struct proc_maps *maps, const struct target_memory *memory, struct gadgets *ret,
			      bool *found_ret) HS_MUST_CHECK;

// Before the target is stopped: has the code that will be looked at fetched into memory, and reads the page of the
// entry point from its file.
struct file_pages;
void gadgets_prepare(const struct proc_maps *maps, const struct target_memory *memory, struct file_pages *pages);

struct entry_patch {
	uint64_t address; // AT_ENTRY; 0 = not patched
	uint8_t old_bytes[ARCH_ENTRY_CODE_SIZE];
	bool page_was_clean; // the file's own page, not a private copy
};

// Writes the gadgets at AT_ENTRY. HS_ERROR_REFUSED when a thread stands there.
struct hs_error *entry_patch_apply(const struct frozen_process *frozen, const struct target_memory *memory,
				   pid_t stopped_tid, struct entry_patch *ret) HS_MUST_CHECK;
// Whether a killed tool has left its code at the entry point. What cannot be read counts as no. `files`, here and
// below: what was read of them before the target stood still; NULL = nothing.
bool entry_patch_is_left(const struct target_memory *memory, const struct file_pages *files);
// Takes it away again: HS_ERROR_REFUSED while a thread is still on its way through it. *page_ret: the page, if it
// equals its file again (its private copy may be dropped); else 0.
struct hs_error *entry_patch_remove_left(const struct frozen_process *frozen, const struct target_memory *memory,
					 pid_t stopped_tid, uint64_t *page_ret) HS_MUST_CHECK;
// The page of the entry point, if it is a private copy that holds what its file holds: such is what a patch leaves when
// it is undone, and it may be dropped. 0 = it is not.
uint64_t entry_patch_left_copy(const struct target_memory *memory, const struct file_pages *files);
// pre: no thread comes back to the gadgets any more.
struct hs_error *entry_patch_undo(struct entry_patch *patch, const struct target_memory *memory,
				  pid_t stopped_tid) HS_MUST_CHECK;

#endif
