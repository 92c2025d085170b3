// SPDX-License-Identifier: Apache-2.0
// Walking the copied stack of a stopped thread by unwind information that was read before the stop: with the payload's
// own decoder, so no file is opened and nothing but the copies is looked at.
#ifndef HEAPSNAP_ATTACH_PTRACE_STACK_WALK_H
#define HEAPSNAP_ATTACH_PTRACE_STACK_WALK_H

#include "attach/process/address_range.h"
#include "attach/ptrace/stack_reader.h"
#include "base/error.h"
#include "base/proc_maps.h"
#include "unwind/cfi.h"

#include <stdbool.h>

// Unwind information of one module, copied from the target's memory.
struct unwind_table {
	uint64_t start, end;       // of the module
	struct memory_span span;   // .eh_frame and what leads to it; `bytes` is owned
	uint64_t hdr, hdr_size;    // .eh_frame_hdr, inside the span; 0 = there is none
	struct memory_span search; // then pairs as cfi_decode_by_table wants them; `bytes` is owned; size 0 = neither
};

struct unwind_rule_slot {
	uint64_t key, rule; // pc, with bit 63 where it is exact; 0 = empty
};

struct unwind_tables {
	struct proc_maps maps; // as they were
	struct unwind_table *items;
	size_t count;
	struct unwind_rule_slot *rules;
};

// pre: the target runs; files are opened. A module that cannot be read is left out: walks that come to it fail.
struct hs_error *unwind_tables_read(const struct target_memory *memory, struct unwind_tables *ret) HS_MUST_CHECK;
void unwind_tables_deinit(struct unwind_tables *tables);

enum walk_end {
	WALK_MET,        // a frame's pc lies in one of the ranges
	WALK_COMPLETE,   // the outermost frame was reached and none does
	WALK_INCOMPLETE, // nothing is known of the frames further out
};

struct walked_thread {
	const arch_registers *registers;
	struct memory_span stack; // from the stack pointer up, as far as it is copied
	uint64_t stack_end;       // where the thread's stack is known to end; 0 = unknown
};

// *certain_ret: words of the stack below this address are surely no return address into the ranges: unwind information
// has led up to there, and no guess. A module counts only if it is mapped under `reader->maps` as it was when the
// tables were read.
enum walk_end stack_walk(struct unwind_tables *tables, const struct stack_reader *reader,
			 const struct walked_thread *thread, const struct address_range *ranges, size_t range_count,
			 uint64_t *certain_ret);

// Pure: whether the address lies in one of the ranges.
bool ranges_hold(const struct address_range *ranges, size_t count, uint64_t address);

#endif
