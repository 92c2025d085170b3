// SPDX-License-Identifier: Apache-2.0
// The region: one shared mapping of tool and payload. All parts start at offsets that the header names; a payload of
// this version uses the constants below.
//
//   offset 0          header, counters
//   hooks             struct hook_record[HS_HOOKS_MAX]           the journal
//   modules           struct module_record[HS_MODULES_MAX]      append-only
//   strings           HS_STRINGS_SIZE bytes                      module paths
//   threads           struct thread_record[HS_THREAD_HISTORY_MAX]
//   slots             HS_THREAD_SLOTS, HS_SLOT_STRIDE apart      by hash of the thread pointer; each begins with a
//                                                                struct shared_slot
//   extra_slots       u32[HS_THREAD_EXTRA_SLOTS]                 first pages of further slots
//   rules             HS_RULES_SIZE bytes                        the payload's own: program counter -> unwind rule
//   log               struct log_entry[HS_LOG_ENTRIES]         blocks that left the table while a dump copied it
//   buckets           u32[HS_STACK_BUCKETS]                      heads of stack_node chains
//   root              u32[HS_ROOT_ENTRIES]                       first level of the live table (live_table.h)
//   samples           u64[HS_SAMPLE_ENTRIES]                     the sample table (sample_table.h)
//   pages             everything that grows, in pages of 4 KiB, handed out in order and never given back:
//                     middle tables, leaf tables, blocks of records, blocks of stack nodes
#ifndef HEAPSNAP_INJECT_ABI_REGION_H
#define HEAPSNAP_INJECT_ABI_REGION_H

#include "live_table.h"
#include "records.h"
#include "removal_log.h"
#include "sample_table.h"
#include "stable.h"

// Which allocations are recorded.
enum sampling_mode {
	SAMPLING_exact = 0,    // all
	SAMPLING_interval = 1, // at a mean interval of `sampling_interval` bytes
	SAMPLING_words = 2,    // so too, and each record says how many samples fell into its block
	SAMPLING_stopped = 3,  // none; blocks that are recorded are followed until they are freed
	// all while that costs a thread no more than `budget`, else at the smallest interval that does not
	SAMPLING_budget = 4,
};

#define HS_DOWNSAMPLING_BY_BUDGET (UINT64_C(1) << 63) // by `budget_floor`; else by `interval_floor`

// How many hooks the region knows that coroutines have left, beside those in the threads' slots.
#define HS_FORGOTTEN_GUARDS 64u

enum removal_flags {
	REMOVAL_LOGS = 1,         // a dump is copying the table while threads run
	REMOVAL_COUNTS_BLOOM = 2, // records may be counted in the filter
};

struct region_header {
	struct stable_header stable; // never changes
	struct region_part modules, strings, threads, rules, log, buckets, root, samples, pages;

	// Set at attach.
	uint32_t depth;               // frames kept of a stack
	uint32_t pid;                 // as the tool saw it
	uint64_t max_pages;           // pages that may be handed out, counted from the start of the region
	uint64_t attach_monotonic_ns; // CLOCK_MONOTONIC at attach
	uint64_t first_page;          // number of the first page of `pages`

	// Read by every thread, written when settings change: by the tool, with the generation last.
	_Alignas(64) uint32_t sampling_generation;
	uint32_t sampling_mode;     // enum sampling_mode
	uint32_t sampling_interval; // bytes
	// 1 = since attach every allocation was recorded, so a block without record is from before. The payload clears
	// it when a thread goes over its budget
	uint32_t always_exact;
	union {
		struct {
			// enum removal_flags: what is to be done with a record that leaves the table
			uint32_t removal_flags;
			// 1 = who releases a block takes its place in the table by exchange, so records may be
			// downsampled; never 0 again
			uint32_t removals_exchange;
		};
		uint64_t removals; // both: 0 = a release has nothing to do but to empty the block's place
	};
	uint64_t sampling_seed; // of the threads' random numbers
	uint32_t budget;        // SAMPLING_budget: millionths of a thread's time
	uint32_t ticks_per_us;  // of the time-stamp counter
	uint32_t epoch;     // raised by each dump that stops no thread: records of older ones are from before its cut
	uint32_t log_limit; // entries that the log may have; never changed after attach
	// enum sampling_mode that was in force before SAMPLING_stopped; interval and budget stand
	uint32_t sampling_before;
	uint32_t samples_used;     // 1 = there is or was a record in the sample table; never 0 again
	uint64_t sampling_wall_ns; // CLOCK_REALTIME of the last change; 0 = as at attach

	// Changed by the payload. Each group on a cache line of its own.
	_Alignas(64) uint64_t next_page; // number of the next page to hand out
	// bits 0..31 ref of the first batch of free records, 32..63 a tag against ABA
	_Alignas(64) uint64_t free_batches;
	// The next part of the tables that is to be downsampled, from 1, with HS_DOWNSAMPLING_BY_BUDGET or without; 0 =
	// nothing is downsampled.
	_Alignas(64) uint64_t downsampling_position;
	uint32_t downsampling_rounds; // how often it was begun
	uint32_t interval_floor;      // no interval is below it, since the region ran short of room; 0 = it has not
	// bits 0..31: records were downsampled to this interval for the budget's sake, and no thread samples below it,
	// though it may record all; 0 = they were not. Bits 32..63: how often
	uint64_t budget_floor;
	uint64_t budget_floor_ticks; // when it was changed
	uint32_t budget_records;     // that this has left; those that came later are not among them
	// the largest interval at which anything was sampled or downsampled, since attach; 0 = nothing was
	uint32_t interval_most;
	uint32_t was_stopped; // 1 = for a time no allocation was recorded
	// SAMPLING_budget, where a process is recorded from its beginning: ticks that its threads may still spend
	// together besides their budget, before any of them goes over it
	uint64_t first_ticks;
	// bits 0..31 entries of the log that were taken (beyond log_limit: that found no room), 32..63 generation
	_Alignas(64) uint64_t log_taken;
	_Alignas(64) uint32_t module_count;
	uint32_t module_generation; // raised whenever a module comes or goes; rules of older ones are void
	uint32_t string_bytes;      // used bytes of the string pool
	uint32_t loader_scans;      // how often the loader's list was read
	uint32_t loader_busy;       // 1 between the loader's "about to delete" and "consistent"
	uint32_t decoders;          // threads that now read unwind information of libraries that may be unloaded
	_Alignas(64) uint32_t thread_count;               // used entries of the thread history
	uint32_t extra_slot_count;                        // used entries of the list of extra slots
	_Alignas(64) uint64_t counters[HS_COUNTER_SLOTS]; // for calls that have no thread slot
	uint64_t cut_counters[CUT_REASON_COUNT];
	uint64_t lost_no_slot; // allocations lost: more threads at one time than slots
	// allocations lost: by threads without a thread pointer (0, or no address of a program)
	uint64_t lost_no_thread_pointer;
	uint64_t lost_shared_pointer; // allocations lost: by threads that share one thread pointer
	uint64_t modules_lost;        // modules that found the list full or could not be read: the most at one time
	// Guards of hooks that were taken for abandoned on stacks that are not a thread's own, and for which their
	// thread's slot has no place any more, or which has become another's: a coroutine may go back to them. 0 =
	// none, or it came back.
	uint64_t forgotten_guards[HS_FORGOTTEN_GUARDS];
	uint32_t guards_lost; // 1 = there were more of them than stand here: the code can never be taken away any more
	// a bit for each thread slot that was ever taken, so that a reader needs not touch the others
	uint64_t used_slots[HS_THREAD_SLOTS / 64];
};
#define HS_HEADER_SIZE 16384u
_Static_assert(sizeof(struct region_header) <= HS_HEADER_SIZE, "region_header");
_Static_assert(offsetof(struct region_header, stable) == 0, "a region begins with what never changes");

// Totals of one stack that a thread has not yet added to the node.
struct totals_entry {
	uint32_t stack; // ref of the stack_node; 0 = empty
	uint32_t objects;
	uint64_t bytes;
};
_Static_assert(sizeof(struct totals_entry) == 16, "totals_entry is 16 bytes");

#define HS_LEFT_GUARDS 4u

// What the tool reads of a thread's slot: its beginning. Written by that thread alone, but for the key; read by the
// tool while the thread is stopped, and what *consistency.md* names while it runs. Behind it, and in `own...`, is the
// payload's own state, of which the tool knows nothing (inject/thread_state.h).
//
//   0     key and call      own_call: what each call looks at lies in one cache line
//   64    reallocation      own_records
//   128   left hooks, costs
//   192   counters, totals
//   sizeof(struct shared_slot) ... HS_SLOT_STRIDE    the payload's own
struct shared_slot {
	_Alignas(64) uint64_t thread_pointer; // key; 0 = never used. Changed by compare-and-swap. With flags: HS_KEY_*
	uint64_t guard; // address of the return address of the outermost hook now running; 0 = none
	// sampling interval, bytes; 1 = every allocation; 0 = to be taken from the header; UINT64_MAX = none
	uint64_t interval;
	uint32_t in_original; // 1 while the outermost hook is inside the original function
	uint32_t own_call[9];

	// A reallocation that is under way. The old block is in no slot of the live table but live all the same,
	// until the live table holds `pending_new` at `pending_new_address`.
	_Alignas(64) uint32_t pending; // ref of the old record; 0 = no reallocation under way
	uint32_t pending_new;
	uint64_t pending_address;
	uint64_t pending_new_address;
	uint64_t stack_low, stack_high; // [low, high); 0, 0 = unknown
	uint32_t pending_count;         // reallocations begun: raised before `pending` and its like change
	uint32_t left_count; // how many places stand in `left_guards`, or have stood; not more than there is room for
	uint32_t own_records[4];

	// the guards of the last hooks that were taken for abandoned; 0 = none, or it came back
	_Alignas(64) uint64_t left_guards[HS_LEFT_GUARDS];
	uint64_t window_began; // ticks; 0 = no window
	uint32_t cost;         // measured over about the last second, millionths of the thread's time
	uint32_t reserved;

	_Alignas(64) uint64_t counters[HS_COUNTER_SLOTS];
	uint64_t cut_counters[16];
	struct totals_entry totals[HS_TOTALS_ENTRIES];
	// of the stack of each entry of `totals`: blocks that the thread has given back before it allocated another
	uint16_t temporaries[HS_TOTALS_ENTRIES];
};
_Static_assert(CUT_REASON_COUNT <= 16, "cut counters");
_Static_assert(offsetof(struct shared_slot, pending) == 64, "what each call looks at is in one cache line");

// From one slot to the next, bytes.
#define HS_SLOT_STRIDE 32768u
_Static_assert(sizeof(struct shared_slot) <= HS_SLOT_STRIDE, "shared_slot");
#define HS_THREAD_SLOT_PAGES (HS_SLOT_STRIDE / HS_PAGE_SIZE)

// How many extra slots may be made in a region that has so many pages for records.
static inline uint32_t thread_extra_slots_max(uint64_t pages)
{
	uint64_t most = pages / HS_THREAD_EXTRA_PART / HS_THREAD_SLOT_PAGES;

	return most < HS_THREAD_EXTRA_SLOTS ? (uint32_t)most : HS_THREAD_EXTRA_SLOTS;
}

// Where to look first for a thread's slot. Control blocks of threads lie at equal distances, mostly: the factor, 2^32
// times the golden ratio's smaller part, spreads these evenly. 0 for thread pointer 0.
static inline uint32_t thread_slot_index(uint64_t thread_pointer)
{
	return (uint32_t)(thread_pointer * 0x61c88647u >> 32) & (HS_THREAD_SLOTS - 1);
}

// Where the parts are.
#define HS_OFFSET_HOOKS       ((uint64_t)HS_HEADER_SIZE)
#define HS_OFFSET_MODULES     (HS_OFFSET_HOOKS + HS_HOOKS_MAX * sizeof(struct hook_record))
#define HS_OFFSET_STRINGS     (HS_OFFSET_MODULES + HS_MODULES_MAX * sizeof(struct module_record))
#define HS_OFFSET_THREADS     (HS_OFFSET_STRINGS + HS_STRINGS_SIZE)
#define HS_OFFSET_SLOTS       (HS_OFFSET_THREADS + HS_THREAD_HISTORY_MAX * sizeof(struct thread_record))
#define HS_OFFSET_EXTRA_SLOTS (HS_OFFSET_SLOTS + (uint64_t)HS_THREAD_SLOTS * HS_SLOT_STRIDE)
#define HS_OFFSET_RULES       (HS_OFFSET_EXTRA_SLOTS + HS_THREAD_EXTRA_SLOTS * sizeof(uint32_t))
#define HS_OFFSET_LOG         (HS_OFFSET_RULES + HS_RULES_SIZE)
#define HS_OFFSET_BUCKETS     (HS_OFFSET_LOG + HS_LOG_ENTRIES * sizeof(struct log_entry))
#define HS_OFFSET_ROOT        (HS_OFFSET_BUCKETS + HS_STACK_BUCKETS * sizeof(uint32_t))
#define HS_OFFSET_SAMPLES     (HS_OFFSET_ROOT + HS_ROOT_ENTRIES * sizeof(uint32_t))
#define HS_OFFSET_PAGES       (HS_OFFSET_SAMPLES + HS_SAMPLE_TABLE_SIZE)
_Static_assert(HS_OFFSET_SAMPLES % 128 == 0, "a bucket is two cache lines");
_Static_assert(HS_OFFSET_SLOTS % HS_PAGE_SIZE == 0 && HS_OFFSET_PAGES % HS_PAGE_SIZE == 0, "parts start on pages");

#endif
