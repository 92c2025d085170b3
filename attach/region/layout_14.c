// SPDX-License-Identifier: Apache-2.0
#include "attach/region/layout_14.h"

#include "inject/abi/payload_header.h"

#include <string.h>

// The header and the slot as they were. What they mean: inject/abi/region.h of that version, whose field had the same
// name. Sizes and counts are numbers here, because the present ones may become others.
struct header_14 {
	uint8_t stable[512];
	struct region_part modules, strings, threads, rules, log, buckets, root, samples, pages;
	uint32_t depth;
	uint32_t pid;
	uint64_t max_pages;
	uint64_t attach_monotonic_ns;
	uint64_t first_page;
	uint8_t gap_to_settings[16];
	uint32_t sampling_generation;
	uint32_t sampling_mode;
	uint32_t sampling_interval;
	uint32_t always_exact;
	uint64_t removals; // removal_flags and, in the upper half, removals_exchange
	uint64_t sampling_seed;
	uint32_t budget;
	uint32_t ticks_per_us;
	uint32_t epoch;
	uint32_t log_limit;
	uint32_t sampling_before;
	uint32_t samples_used;
	uint64_t sampling_wall_ns;
	uint64_t next_page;
	uint8_t gap_to_batches[56];
	uint64_t free_batches;
	uint8_t gap_to_downsampling[56];
	uint64_t downsampling_position;
	uint32_t downsampling_rounds;
	uint32_t interval_floor;
	uint64_t budget_floor;
	uint64_t budget_floor_ticks;
	uint32_t budget_records;
	uint32_t interval_most;
	uint32_t was_stopped;
	uint8_t gap_to_first_ticks[4];
	uint64_t first_ticks;
	uint8_t gap_to_log[8];
	uint64_t log_taken;
	uint8_t gap_to_modules[56];
	uint32_t module_count;
	uint32_t module_generation;
	uint32_t string_bytes;
	uint32_t loader_scans;
	uint32_t loader_busy;
	uint32_t decoders;
	uint8_t gap_to_threads[40];
	uint32_t thread_count;
	uint32_t extra_slot_count;
	uint8_t gap_to_counters[56];
	uint64_t counters[32];
	uint64_t cut_counters[8];
	uint64_t lost_no_slot;
	uint64_t lost_no_thread_pointer;
	uint64_t lost_shared_pointer;
	uint64_t modules_lost;
	uint64_t forgotten_guards[64];
	uint32_t guards_lost;
	uint32_t gap_to_slots;
	uint64_t used_slots[64];
	uint8_t rest[24];
};
_Static_assert(sizeof(struct header_14) == 2560, "frozen");

struct slot_14 {
	uint64_t thread_pointer;
	uint64_t guard;
	uint64_t interval;
	uint32_t in_original;
	uint32_t own_call[9];
	uint32_t pending;
	uint32_t pending_new;
	uint64_t pending_address;
	uint64_t pending_new_address;
	uint64_t stack_low, stack_high;
	uint32_t pending_count;
	uint32_t left_count;
	uint32_t own_records[4];
	uint64_t left_guards[4];
	uint64_t window_began;
	uint32_t cost;
	uint8_t gap_to_counters[20];
	uint64_t counters[32];
	uint64_t cut_counters[16];
	struct totals_entry totals[128];
	uint16_t temporaries[128];
};
_Static_assert(sizeof(struct slot_14) == 2880, "frozen");
_Static_assert(sizeof(struct shared_slot) <= 0x8000, "a present slot fits in the place of an old one");

// Fields that are in the present struct under the same name and with the same meaning. Where one no longer is, it
// leaves this list, and its translation is written out below.
#define SAME_IN_HEADER(X)                                                                                              \
	X(modules)                                                                                                     \
	X(strings)                                                                                                     \
	X(threads)                                                                                                     \
	X(rules)                                                                                                       \
	X(log)                                                                                                         \
	X(buckets)                                                                                                     \
	X(root)                                                                                                        \
	X(samples)                                                                                                     \
	X(pages)                                                                                                       \
	X(depth)                                                                                                       \
	X(pid)                                                                                                         \
	X(max_pages)                                                                                                   \
	X(attach_monotonic_ns)                                                                                         \
	X(first_page)                                                                                                  \
	X(sampling_generation)                                                                                         \
	X(sampling_mode)                                                                                               \
	X(sampling_interval)                                                                                           \
	X(always_exact)                                                                                                \
	X(removals)                                                                                                    \
	X(sampling_seed)                                                                                               \
	X(budget)                                                                                                      \
	X(ticks_per_us)                                                                                                \
	X(epoch)                                                                                                       \
	X(log_limit)                                                                                                   \
	X(sampling_before)                                                                                             \
	X(samples_used)                                                                                                \
	X(sampling_wall_ns)                                                                                            \
	X(next_page)                                                                                                   \
	X(free_batches)                                                                                                \
	X(downsampling_position)                                                                                       \
	X(downsampling_rounds)                                                                                         \
	X(interval_floor)                                                                                              \
	X(budget_floor)                                                                                                \
	X(budget_floor_ticks)                                                                                          \
	X(budget_records)                                                                                              \
	X(interval_most)                                                                                               \
	X(was_stopped)                                                                                                 \
	X(first_ticks)                                                                                                 \
	X(log_taken)                                                                                                   \
	X(module_count)                                                                                                \
	X(module_generation)                                                                                           \
	X(string_bytes)                                                                                                \
	X(loader_scans)                                                                                                \
	X(loader_busy)                                                                                                 \
	X(decoders)                                                                                                    \
	X(thread_count)                                                                                                \
	X(extra_slot_count)                                                                                            \
	X(counters)                                                                                                    \
	X(cut_counters)                                                                                                \
	X(lost_no_slot)                                                                                                \
	X(lost_no_thread_pointer)                                                                                      \
	X(lost_shared_pointer)                                                                                         \
	X(modules_lost)                                                                                                \
	X(forgotten_guards)                                                                                            \
	X(guards_lost)                                                                                                 \
	X(used_slots)

#define SAME_IN_SLOT(X)                                                                                                \
	X(thread_pointer)                                                                                              \
	X(guard)                                                                                                       \
	X(interval)                                                                                                    \
	X(in_original)                                                                                                 \
	X(own_call)                                                                                                    \
	X(pending)                                                                                                     \
	X(pending_new)                                                                                                 \
	X(pending_address)                                                                                             \
	X(pending_new_address)                                                                                         \
	X(stack_low)                                                                                                   \
	X(stack_high)                                                                                                  \
	X(pending_count)                                                                                               \
	X(left_count)                                                                                                  \
	X(own_records)                                                                                                 \
	X(left_guards)                                                                                                 \
	X(window_began)                                                                                                \
	X(cost)                                                                                                        \
	X(counters)                                                                                                    \
	X(cut_counters)                                                                                                \
	X(totals)                                                                                                      \
	X(temporaries)

#define X(field)                                                                                                       \
	_Static_assert(sizeof(((struct region_header *)0)->field) == sizeof(((struct header_14 *)0)->field),           \
		       "translate it: " #field);                                                                       \
	_Static_assert(HS_ABI_VERSION != 14 ||                                                                         \
			       offsetof(struct region_header, field) == offsetof(struct header_14, field),             \
		       "raise HS_ABI_VERSION (docs/abi.md, A new version): " #field);
SAME_IN_HEADER(X)
#undef X
#define X(field)                                                                                                       \
	_Static_assert(sizeof(((struct shared_slot *)0)->field) == sizeof(((struct slot_14 *)0)->field),               \
		       "translate it: " #field);                                                                       \
	_Static_assert(HS_ABI_VERSION != 14 || offsetof(struct shared_slot, field) == offsetof(struct slot_14, field), \
		       "raise HS_ABI_VERSION (docs/abi.md, A new version): " #field);
SAME_IN_SLOT(X)
#undef X

// What is read where it lies is as it was, or this reader has to translate it as well: it copies the table for itself,
// so it may.
_Static_assert(sizeof(struct block_record) == 32 && offsetof(struct block_record, hook) == 6 &&
		       offsetof(struct block_record, stack) == 16 && offsetof(struct block_record, interval) == 24 &&
		       sizeof(struct stack_node) == 32 && offsetof(struct stack_node, parent) == 8 &&
		       offsetof(struct stack_node, alloc_objects) == 16 && sizeof(struct thread_record) == 4 &&
		       sizeof(struct totals_entry) == 16,
	       "translate it");
_Static_assert(sizeof(struct module_record) == 176 && offsetof(struct module_record, ready) == 64 &&
		       offsetof(struct module_record, path) == 80 && offsetof(struct module_record, build_id) == 88 &&
		       offsetof(struct module_record, build_id_size) == 120,
	       "translate it");
// NOLINTBEGIN(misc-redundant-expression): two comparisons of numbers that macros name look like one to it.
_Static_assert(HS_PAGE_SIZE == 4096 && HS_REF_SHIFT == 5 && HS_FRAME_MODULE_SHIFT == 48 &&
		       HS_FRAME_MODULE_MASK == 0x3fff && HS_FRAME_EXACT_PC == 0x4000 && HS_FRAME_CUT == 0x8000 &&
		       HS_FRAME_TEMPORARY == 0xc000 && HS_OBJECTS_SHIFT == 16 && HS_BYTES_SHIFT == 8 &&
		       HS_SAMPLES_MAX == 2047,
	       "translate it");
_Static_assert(HS_LEAF_BITS == 10 && HS_MIDDLE_BITS == 15 && HS_NARROW_SHIFT == 4 && HS_NARROW_ROOT_BITS == 18 &&
		       HS_WIDE_SHIFT == 6 && HS_WIDE_ROOT_BITS == 16 && HS_NARROW_SIZE_MAX == 48 &&
		       HS_WIDE_REF_BITS == 30 && HS_STACK_BUCKETS == 278528 && HS_SAMPLE_BUCKET_BITS == 11 &&
		       HS_SAMPLE_BUCKET_ENTRIES == 16 && HS_SAMPLE_FACTOR == 0x9e3779b97f5,
	       "translate it");
// Counts that checks compare with, and what the ledger names by number: new ones come at the end.
_Static_assert(HS_HOOKS_MAX >= 512 && HS_MODULES_MAX >= 8192 && HS_STRINGS_SIZE >= 4u << 20 &&
		       HS_THREAD_HISTORY_MAX == 1u << 20 && HS_THREAD_SLOTS == 4096 && HS_THREAD_EXTRA_SLOTS == 65536 &&
		       HS_LOG_ENTRIES >= 1u << 19 && HS_DEPTH_MAX >= 256,
	       "translate it");
// NOLINTEND(misc-redundant-expression): as above
_Static_assert(COUNTER_allocations == 0 && COUNTER_frees == 2 && COUNTER_unknown_frees == 4 &&
		       COUNTER_lost_region_full == 12 && COUNTER_nested == 17 && COUNTER_downsampled == 19 &&
		       COUNTER_stack_cuts == 23 && COUNTER_whole_frees == 27 && CUT_depth_limit == 0 &&
		       CUT_stack_table_full == 7 && VERDICT_too_short == 1 && VERDICT_forwards == 8 &&
		       VERDICT_unfollowed == 18 && HOOK_malloc == 0 && HOOK_exit_point == 14,
	       "translate it");
_Static_assert(SAMPLING_exact == 0 && SAMPLING_interval == 1 && SAMPLING_words == 2 && SAMPLING_stopped == 3 &&
		       SAMPLING_budget == 4 && MODULE_IN_LINK_MAP == 1 && MODULE_AFTER_ATTACH == 2 &&
		       MODULE_MAIN == 4 && MODULE_VDSO == 8 && MODULE_GO == 64,
	       "translate it");

static void translate_header(const void *from, struct region_header *to)
{
	const struct header_14 *old = from;

	*to = (struct region_header){ 0 };
	memcpy(&to->stable, old->stable, sizeof(old->stable));
#define X(field) memcpy(&to->field, &old->field, sizeof(to->field));
	SAME_IN_HEADER(X)
#undef X
}

static void translate_slot(const void *from, struct shared_slot *to)
{
	const struct slot_14 *old = from;

	*to = (struct shared_slot){ 0 };
#define X(field) memcpy(&to->field, &old->field, sizeof(to->field));
	SAME_IN_SLOT(X)
#undef X
}

const struct region_layout region_layout_14 = {
	.abi_version = 14,
	.header_size = sizeof(struct header_14),
	.slot_size = sizeof(struct slot_14),
	.stable = { .hooks = 0x4000,
		    .slots = 0x974000,
		    .used_slots = 2024,
		    .extra_slots = 0x8974000,
		    .extra_slot_count = 1092,
		    .forgotten_guards = 1504,
		    .guards_lost = 2016,
		    .hook_stride = 128,
		    .slot_stride = 0x8000,
		    .slot_count = 4096,
		    .extra_slots_max = 65536,
		    .forgotten_count = 64,
		    .key = 0,
		    .guard = 8,
		    .in_original = 24,
		    .stack_low = 88,
		    .stack_high = 96,
		    .left_count = 108,
		    .left_guards = 128,
		    .left_guards_count = 4 },
	.modules = { 0x14000, 0x160000 },
	.strings = { 0x174000, 0x400000 },
	.threads = { 0x574000, 0x400000 },
	.rules = { 0x89b4000, 0x100000 },
	.log = { 0x8ab4000, 0x2000000 },
	.buckets = { 0xaab4000, 0x110000 },
	.root = { 0xabc4000, 0x240000 },
	.samples = { 0xae04000, 0x40000 },
	.pages = 0xae44000,
	.translate_header = translate_header,
	.translate_slot = translate_slot,
};
