// SPDX-License-Identifier: Apache-2.0
// What the region holds of blocks, stacks, threads, modules and hooks. Fixed widths, no pointers.
//
// A `ref` is an offset into the region divided by 32; 0 means none. So a region may be 128 GiB long.
#ifndef HEAPSNAP_INJECT_ABI_RECORDS_H
#define HEAPSNAP_INJECT_ABI_RECORDS_H

#include "limits.h"

#include <stddef.h>
#include <stdint.h>

#define HS_REF_SHIFT 5u

// One live block. Its address is what the entry that refers to it stands for.
struct block_record {
	union {
		uint64_t size : 48; // bytes asked for, modulo 2^48: no address space has more
		uint64_t size_and_hook;
		struct {
			uint16_t size_words[3];
			// of the function that made the block last: index in the journal, + 1; 0 = not known, as in
			// every region of version 13
			uint16_t hook;
		};
	};
	uint64_t birth;        // when the allocation returned, ticks of the time-stamp counter
	uint32_t stack;        // ref of a stack_node, the innermost frame
	uint32_t thread : 20;  // index into the thread history
	uint32_t in_bloom : 1; // counted in the filter
	// how many samples fell into the block, HS_SAMPLES_MAX = so many or more; 0 = not counted
	uint32_t samples : 11;
	uint32_t interval; // mean sampling interval in force, bytes; 1 = every allocation
	uint32_t epoch;    // the region's epoch when it was recorded
};
_Static_assert(sizeof(struct block_record) == 32, "block_record is 32 bytes");
// NOLINTNEXTLINE(misc-redundant-expression): the two are equal as it happens; one may become smaller
_Static_assert(HS_THREAD_HISTORY_MAX <= 1u << 20, "thread fits");
_Static_assert(HS_HOOKS_MAX < UINT16_MAX, "hook fits");
_Static_assert(offsetof(struct block_record, hook) == 6 && offsetof(struct block_record, birth) == 8, "size and hook");
#define HS_SAMPLES_MAX 2047u

// A batch of free records, in the memory of its first record: the others are chained through `next`.
struct free_record {
	uint32_t next;       // ref of the next record of this batch; 0 = last
	uint32_t next_batch; // ref of the first record of the next batch (only in a batch's first record)
	uint32_t reserved[6];
};
_Static_assert(sizeof(struct free_record) == sizeof(struct block_record), "a free record is a record");

// A frame word: bits 0..47 the program counter (a return address, except in the two cases that the top bit of
// the module number marks), bits 48..63 the module.
#define HS_FRAME_PC_MASK      UINT64_C(0x0000ffffffffffff)
#define HS_FRAME_MODULE_SHIFT 48u
#define HS_FRAME_MODULE_MASK  0x3fffu // module index + 1; 0 = in no module
#define HS_FRAME_EXACT_PC     0x4000u // the pc is that of an interrupted instruction, not a return address
#define HS_FRAME_CUT          0x8000u // no frame: says that the walk ended early; pc holds an enum cut_reason
// no frame, and the innermost frame of no stack: its `alloc_objects` are the temporary ones of its parent's stack
#define HS_FRAME_TEMPORARY (HS_FRAME_CUT | HS_FRAME_EXACT_PC)

// One frame of a stack. Stacks that share outer frames share nodes: parent is the next outer frame.
// Append-only. Invariant: a chain of parents ends with 0 after at most HS_DEPTH_MAX + 1 steps, from a
// HS_FRAME_TEMPORARY on after one more.
struct stack_node {
	uint64_t frame;         // frame word
	uint32_t parent;        // ref; 0 = outermost
	uint32_t next;          // ref of the next node of the same bucket
	uint64_t alloc_objects; // estimated allocations whose innermost frame this is, since attach, times
				// HS_OBJECTS_ONE
	uint64_t alloc_bytes;   // their bytes, times HS_BYTES_ONE. Both without what threads still hold in `totals`.
};
_Static_assert(sizeof(struct stack_node) == 32, "stack_node is 32 bytes");

// Estimates are sums of fractions: fixed point.
#define HS_OBJECTS_SHIFT 16u
#define HS_BYTES_SHIFT   8u
#define HS_OBJECTS_ONE   (UINT64_C(1) << HS_OBJECTS_SHIFT)
#define HS_BYTES_ONE     (UINT64_C(1) << HS_BYTES_SHIFT)

// Why a walk ended before the outermost frame. The ledger prints the texts.
#define HS_CUT_REASONS(X)                                                                                              \
	X(depth_limit, "depth limit reached")                                                                          \
	X(foreign_stack, "stack pointer outside the thread's known stack")                                             \
	X(no_unwind_info, "no unwind information for a frame")                                                         \
	X(bad_unwind_info, "unwind information that cannot be used")                                                   \
	X(out_of_bounds, "a frame outside the stack")                                                                  \
	X(no_progress, "a frame that does not move up the stack")                                                      \
	X(loader_busy, "the dynamic loader was unloading a library")                                                   \
	X(stack_table_full, "no room for the stack")

enum cut_reason {
#define X(name, text) CUT_##name,
	HS_CUT_REASONS(X)
#undef X
		CUT_REASON_COUNT
};

// Counters, kept per thread and added up by the tool. The ledger prints the texts.
#define HS_COUNTERS(X)                                                                                                 \
	X(allocations, "allocations recorded")                                                                         \
	X(allocated_bytes, "bytes allocated")                                                                          \
	X(frees, "frees of recorded blocks")                                                                           \
	X(reallocations, "reallocations of recorded blocks")                                                           \
	X(unknown_frees, "untracked frees (mostly blocks from before attach)")                                         \
	X(unknown_frees_own, "untracked frees by the allocator's own library (a thread's cache at its end)")           \
	X(unknown_free_sizes, "untracked frees with a known size")                                                     \
	X(unknown_free_bytes, "bytes of untracked frees, some as the allocator rounds them")                           \
	X(unknown_reallocations, "untracked reallocations (mostly blocks from before attach)")                         \
	X(unknown_reallocation_sizes, "untracked reallocations with a known old size")                                 \
	X(unknown_reallocation_bytes, "old bytes of untracked reallocations, as the allocator rounds them")            \
	X(failed_allocations, "allocations that failed in the target")                                                 \
	X(lost_region_full, "allocations lost: the region was full")                                                   \
	X(lost_region_full_bytes, "bytes lost: the region was full")                                                   \
	X(lost_signal_reentry,                                                                                         \
	  "allocations lost: in a signal handler or on another stack, during another call of the thread")              \
	X(lost_address_range, "allocations lost: address outside the table")                                           \
	X(left_to_operator, "failed operator new calls passed through; resulting blocks untracked")                    \
	X(nested, "nested allocator calls (counted once)")                                                             \
	X(abandoned, "calls left by longjmp or an exception: their blocks, if any, are not recorded")                  \
	X(downsampled, "records downsampled (region full or budget spent); estimates stay unbiased")                   \
	X(lost_downsampling, "records lost: downsampled and freed at the same moment")                                 \
	X(replaced, "blocks replaced (allocated again without a free that a hook saw)")                                \
	X(replaced_bytes, "bytes replaced")                                                                            \
	X(stack_cuts, "allocations whose stack was cut short")                                                         \
	X(rule_misses, "program counters decoded from unwind information")                                             \
	X(slow_walks, "stacks walked with all registers")                                                              \
	X(walk_reuses, "stacks that reused the outer frames of the one before")                                        \
	X(whole_frees,                                                                                                 \
	  "arenas, heaps or pools freed as a whole (their blocks are shown as live until the addresses are reused)")   \
	X(lost_temporaries, "temporary allocations not counted as such: the region was full")

enum counter {
#define X(name, text) COUNTER_##name,
	HS_COUNTERS(X)
#undef X
		COUNTER_COUNT
};
#define HS_COUNTER_SLOTS 32
_Static_assert(COUNTER_COUNT <= HS_COUNTER_SLOTS, "counter slots");

// A thread that was seen, for ever.
struct thread_record {
	uint32_t tid; // the kernel's id in the target's own PID namespace; 0 = unknown
};
_Static_assert(sizeof(struct thread_record) == 4, "thread_record is 4 bytes");

enum module_flags {
	MODULE_IN_LINK_MAP = 1,  // the dynamic loader lists it, so its unloading will be seen
	MODULE_AFTER_ATTACH = 2, // found by the payload
	MODULE_MAIN = 4,         // the executable
	MODULE_VDSO = 8,
	MODULE_CAN_UNLOAD = 16, // not proved to stay for ever
	MODULE_GO = 64,         // holds a Go runtime, whose allocations are not seen
};

// A loaded ELF object. Append-only; `unloaded` is set when it goes, and the record stays.
struct module_record {
	uint64_t load_bias;         // address = load_bias + p_vaddr
	uint64_t start, end;        // [start, end): span of all its load segments in memory
	uint64_t eh_frame_hdr;      // address; 0 = none
	uint64_t eh_frame_hdr_size; // bytes
	uint64_t cfi_low, cfi_high; // [low, high): readable memory that holds .eh_frame and its header; of a module
				    // without header .eh_frame alone
	uint64_t link_map;          // address of its struct link_map; 0 = none
	uint32_t ready;             // 1 once all other fields are written
	uint32_t flags;             // enum module_flags
	uint32_t loaded;            // generation of the module list at which it appeared
	uint32_t unloaded;          // generation at which it went; 0 = it is there
	uint32_t path;              // offset into the string pool
	uint32_t path_size;         // bytes, without a terminator
	uint8_t build_id[HS_BUILD_ID_MAX];
	uint32_t build_id_size; // bytes; 0 = none
	uint32_t reserved;
	uint64_t text_low, text_high; // [low, high): span of its executable segments
	uint32_t seen;                // number of the last scan of the loader's list that found it (payload's own)
	uint32_t search_page; // the tool's search table for a module whose file has none (no .eh_frame_hdr): number of
			      // its first page in the region; 0 = none
	uint32_t search_count; // pairs in it: signed 32-bit distances of {first pc, FDE} from cfi_low, ascending
	uint32_t reserved2;
	// [low, high): the longest executable segment, as far as it can be read (payload's own)
	uint64_t readable_low, readable_high;
};
_Static_assert(sizeof(struct module_record) == 176, "module_record is 176 bytes");

enum hook_state {
	HOOK_PLANNED = 0, // old and new bytes known, nothing written
	HOOK_APPLIED = 1, // the new bytes are (or, if the tool died, may be) in place
	HOOK_REMOVED = 2, // the old bytes are back
	HOOK_REFUSED = 3, // could not be hooked; `verdict` says why
};

// Names why a function was not hooked.
#define HS_HOOK_VERDICTS(X)                                                                                                \
	X(ok, "hooked")                                                                                                    \
	X(too_short, "the function is shorter than the jump")                                                              \
	X(branch_inside, "a branch, its own or another function's, leads into its first bytes")                            \
	X(not_relocatable, "its first instructions cannot be moved")                                                       \
	X(not_decodable, "its first bytes are no known instructions")                                                      \
	X(changed, "its code differs from its file (already patched?)")                                                    \
	X(out_of_reach, "no free address within 2 GiB")                                                                    \
	X(not_text, "its symbol does not point into code")                                                                 \
	X(forwards, "it only calls a function that is hooked")                                                             \
	X(checked_allocator, "its allocator checks how each block was made (a sanitizer, a debug build)")                  \
	X(unproven, "nothing proves that this operator is its allocator's own")                                            \
	X(no_companion, "it may throw, and its allocator has no function that does the same and does not")                 \
	X(two_pages, "its first bytes lie on two pages, which cannot be changed at one instant")                           \
	X(no_exit_point, "it may throw or be cancelled, and there is no room for a jump where it returns")                 \
	X(leaves_by_jump, "it may throw or be cancelled, and ends with a jump to another function")                        \
	X(may_unwind, "it may throw or be cancelled, and its blocks cannot be seen without a frame below it")              \
	X(reaches_above,                                                                                                   \
	  "it asks for its return address, or takes arguments on the stack, and cannot be seen where these stay in place") \
	X(untrusted, "another function of its allocator may throw or be cancelled, or asks for its return address")        \
	X(unfollowed, "its code cannot be followed everywhere: it may throw or be cancelled")

enum hook_verdict {
#define X(name, text) VERDICT_##name,
	HS_HOOK_VERDICTS(X)
#undef X
		VERDICT_COUNT
};

// One line of the journal: a change of the target's text, with all that is needed to undo it.
struct hook_record {
	uint64_t address;  // of the first patched byte
	uint64_t function; // entry of the function (differs when its first instruction is kept: a mark for indirect
			   // branches)
	uint64_t island;   // address of its struct hook_island
	uint32_t state;    // enum hook_state
	uint32_t verdict;  // enum hook_verdict
	uint16_t kind;     // enum hook_kind
	uint16_t module;   // index
	uint8_t size;      // patched bytes
	uint8_t covered;   // bytes of whole instructions that the trampoline replaces, from `address` on
	uint8_t page_was_clean; // 1 = the page was an unmodified file page before
	uint8_t reserved;
	uint8_t old_bytes[16];
	uint8_t new_bytes[16];
	char name[56]; // symbol, cut to fit, terminated
};
_Static_assert(offsetof(struct hook_record, address) == 0 && offsetof(struct hook_record, function) == 8 &&
		       offsetof(struct hook_record, island) == 16 && offsetof(struct hook_record, state) == 24 &&
		       offsetof(struct hook_record, verdict) == 28 && offsetof(struct hook_record, kind) == 32 &&
		       offsetof(struct hook_record, module) == 34 && offsetof(struct hook_record, size) == 36 &&
		       offsetof(struct hook_record, covered) == 37 &&
		       offsetof(struct hook_record, page_was_clean) == 38 &&
		       offsetof(struct hook_record, old_bytes) == 40 && offsetof(struct hook_record, new_bytes) == 56 &&
		       offsetof(struct hook_record, name) == 72 && sizeof(struct hook_record) == 128,
	       "hook_record never changes (stable.h)");
_Static_assert(HOOK_PLANNED == 0 && HOOK_APPLIED == 1 && HOOK_REMOVED == 2 && HOOK_REFUSED == 3 && VERDICT_ok == 0,
	       "these never change (stable.h)");

#endif
