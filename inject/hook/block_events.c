// SPDX-License-Identifier: Apache-2.0
// Context: in a hook. Most of the calls take the fast path (fast_path.h).
#include "inject/hook/block_events.h"

void totals_add_sampled(uint32_t stack, uint64_t size, struct choice choice)
{
	struct stack_node *node = region_ref(stack);
	struct sampling_weight weight = sampling_stands_for(size, choice);

	__atomic_fetch_add(&node->alloc_objects, weight.objects, __ATOMIC_RELAXED);
	__atomic_fetch_add(&node->alloc_bytes, weight.bytes, __ATOMIC_RELAXED);
}

static void count_lost(struct thread_slot *slot, uint64_t size)
{
	slot->last_freed = 0; // the same address may come again
	slot->last_record = 0;
	count_up(slot->shared.counters, COUNTER_lost_region_full, 1);
	count_up(slot->shared.counters, COUNTER_lost_region_full_bytes, size);
}

// When a block is born. Reading the time-stamp counter costs as much as all the rest of a recording, so where every
// allocation is recorded it is read for some: a block is then born between the time that is told and the thread's next
// reading.
enum { HS_TICKS_CALLS = 16 };

// Before a recording. Returns whether the time was read.
static bool read_ticks(struct thread_slot *slot, struct choice choice)
{
	bool reads = choice.interval != 1 || slot->ticks_left == 0;

	if (HS_UNLIKELY(reads)) {
		slot->ticks = arch_ticks();
		slot->ticks_left = HS_TICKS_CALLS;
	}
	slot->ticks_left--;
	return reads;
}

// The slow ways to a record and to entries of the live table: pages may be taken, so it may be time to downsample.
__attribute__((noinline)) static uint32_t refill_records(struct thread_slot *slot)
{
	uint64_t before = downsampling_next_page();
	uint32_t ref = record_refill(slot);

	downsampling_look(before);
	return ref;
}

__attribute__((noinline)) static uint32_t *make_wide(struct thread_slot *slot, uint64_t address)
{
	uint64_t before = downsampling_next_page();
	uint32_t *entry = live_table_make_wide(address, &slot->spare_page);

	downsampling_look(before);
	return entry;
}

__attribute__((noinline)) static uint32_t *make_narrow(struct thread_slot *slot, uint64_t address)
{
	uint64_t before = downsampling_next_page();
	uint32_t *entry = live_table_make_narrow(address, &slot->spare_page);

	downsampling_look(before);
	return entry;
}

// A record of a block of `size` bytes that the caller's stack asked for, its totals counted. 0 = none could be had.
static uint32_t new_record(struct thread_slot *slot, uint64_t size, struct choice choice,
			   const struct entry_frame *frame)
{
	uint32_t stack = unwind_to_node(slot, frame);
	uint32_t ref = record_take_kept(slot);

	if (HS_UNLIKELY(!ref))
		ref = refill_records(slot);
	if (HS_UNLIKELY(!ref)) {
		count_lost(slot, size);
		return 0;
	}
	record_fill(slot, region_ref(ref), size, choice, stack);
	if (HS_LIKELY(choice.interval == 1)) {
		totals_add(slot, stack, size);
	} else {
		totals_add_sampled(stack, size, choice);
		slot->last_countdown = __atomic_load_n(credit_countdown(slot), __ATOMIC_RELAXED);
	}
	count_up(slot->shared.counters, COUNTER_allocations, 1);
	count_up(slot->shared.counters, COUNTER_allocated_bytes, size);
	slot->last_record = ref;
	return ref;
}

// The live table's entry for a block's record, made if need be; PLACE_none = the region is full. `ref`: 0 = not known
// yet
static struct block_place live_place(struct thread_slot *slot, uint64_t address, uint64_t size, uint32_t ref)
{
	uint32_t *entry = NULL;

	if (live_is_wide(address, size) && ref >> HS_WIDE_REF_BITS == 0) {
		entry = live_table_find_wide(address);
		if (HS_UNLIKELY(!entry))
			entry = make_wide(slot, address);
	}
	if (HS_LIKELY(entry && (!__atomic_load_n(entry, __ATOMIC_RELAXED) || live_table_wide_ref(entry, address))))
		return place_at(PLACE_wide, entry);
	entry = live_table_find_narrow(address);
	if (HS_UNLIKELY(!entry))
		entry = make_narrow(slot, address);
	return place_at(PLACE_narrow, entry);
}

// Where a new block's record is to go: an entry of the live table, or PLACE_sample, any of the sample table. What
// cannot be had is counted.
static struct block_place room_for(struct thread_slot *slot, uint64_t address, uint64_t size, struct choice choice)
{
	struct block_place room = { PLACE_none, NULL };

	if (HS_UNLIKELY(!live_table_covers(address))) {
		slot->last_freed = 0;
		slot->last_record = 0;
		count_up(slot->shared.counters, COUNTER_lost_address_range, 1);
		return room;
	}
	if (choice.interval != 1 && sample_table_has_room(address)) {
		room.kind = PLACE_sample;
		return room;
	}
	room = live_place(slot, address, size, 0);
	if (HS_UNLIKELY(room.kind == PLACE_none))
		count_lost(slot, size);
	return room;
}

// A record that no entry of the table shows any more.
static void record_gone(struct thread_slot *slot, uint32_t ref, uint64_t address)
{
	if (HS_UNLIKELY(bloom_in_use()) && ((const struct block_record *)region_ref(ref))->in_bloom)
		bloom_remove(address);
	record_give(slot, ref);
}

// Takes out a record whose block's free was not seen: given back by a function that is not hooked, or with its whole
// arena.
static void replace(struct thread_slot *slot, struct block_place place, uint64_t address)
{
	const struct block_record *record;
	uint32_t ref = block_place_ref(place, address);

	removal_note(address, ref);
	ref = block_place_take(place, address);
	if (!ref)
		return;
	record = region_ref(ref);
	count_up(slot->shared.counters, COUNTER_replaced, 1);
	count_up(slot->shared.counters, COUNTER_replaced_bytes, record->size);
	record_gone(slot, ref, address);
}

// Takes out what shows a new block's address still. Not what a wide entry will hide: to look for that would cost the
// cache line that it saves.
static void replace_old(struct thread_slot *slot, enum place_kind kind, uint64_t address)
{
	uint32_t *wide = live_table_find_wide(address),
		 *narrow = kind == PLACE_wide ? NULL : live_table_find_narrow(address);
	uint64_t *sample = HS_UNLIKELY(sample_table_is_used()) ? sample_table_find(address) : NULL;

	if (HS_UNLIKELY(live_table_wide_ref(wide, address)))
		replace(slot, place_at(PLACE_wide, wide), address);
	if (HS_UNLIKELY(narrow && __atomic_load_n(narrow, __ATOMIC_RELAXED)))
		replace(slot, place_at(PLACE_narrow, narrow), address);
	if (HS_UNLIKELY(sample))
		replace(slot, place_at(PLACE_sample, sample), address);
}

// Writes the entry of a block that has none. False = other threads have filled the sample table's bucket meanwhile, and
// the region is full.
static bool show(struct thread_slot *slot, struct block_place place, uint32_t ref, uint64_t address)
{
	uint64_t size = ((const struct block_record *)region_ref(ref))->size;

	if (HS_UNLIKELY(place.kind == PLACE_sample)) {
		if (sample_table_put(address, ref))
			return true;
		place = live_place(slot, address, size, ref);
	}
	if (HS_UNLIKELY(place.kind == PLACE_none))
		return false;
	__atomic_store_n((uint32_t *)place.entry, place.kind == PLACE_wide ? wide_entry(address, ref) : ref,
			 __ATOMIC_RELEASE);
	return true;
}

// Whether it is an entry of the live table, and empty.
static bool is_empty(struct block_place place)
{
	return place.entry && place.kind != PLACE_sample &&
	       __atomic_load_n((uint32_t *)place.entry, __ATOMIC_RELAXED) == 0;
}

// Shows a block's record. False, and counted, when other threads have taken the room meanwhile. pre: room_for has found
// room
static bool publish(struct thread_slot *slot, struct block_place room, uint32_t ref, uint64_t address)
{
	struct block_record *record = region_ref(ref);
	bool is_excluded = false;
	uint64_t size = record->size;

	if (HS_UNLIKELY(room.kind == PLACE_wide && ref >> HS_WIDE_REF_BITS))
		room = live_place(slot, address, size, ref);
	if (HS_UNLIKELY(bloom_in_use())) {
		is_excluded = bloom_excludes(address);
		record->in_bloom = 1;
		bloom_add(address);
	}
	if (HS_LIKELY(!is_excluded || !is_empty(room)))
		replace_old(slot, room.kind, address);
	if (HS_LIKELY(show(slot, room, ref, address)))
		return true;
	count_lost(slot, size); // recorded, and lost all the same
	record_gone(slot, ref, address);
	return false;
}

// Behind a recording for which the time was read: what it has cost, and the thread's part of a downsampling. pre:
// nothing is pending, since a step may put another record in the place of the one that was just shown.
static inline void after_recording(struct thread_slot *slot, uint64_t size, struct choice choice)
{
	if (region()->sampling_mode == SAMPLING_budget) {
		budget_note_record(slot, size, choice);
	} else if (downsampling_is_under_way()) {
		slot->last_record = 0; // it may be another block's afterwards
		downsampling_work(slot);
	}
}

void record_allocation(struct thread_slot *slot, uint64_t block, uint64_t size, struct choice choice,
		       const struct entry_frame *frame)
{
	struct block_place room;
	uint32_t ref;
	bool timed;

	if (HS_UNLIKELY(!block)) {
		count_up(slot->shared.counters, COUNTER_failed_allocations, 1);
		return;
	}
	if (!choice.interval) {
		slot->last_record = 0;
		slot->framed_calls++;
		reentry_count_call(slot);
		return;
	}
	timed = read_ticks(slot, choice);
	room = room_for(slot, block, size, choice);
	if (HS_UNLIKELY(room.kind == PLACE_none))
		return;
	ref = new_record(slot, size, choice, frame);
	if (HS_LIKELY(ref))
		(void)publish(slot, room, ref, block);
	if (HS_UNLIKELY(timed))
		after_recording(slot, size, choice);
}

// The usable size of a block that the allocator itself tells; 0 = it has no function that is proved to do nothing else.
static uint64_t usable_size(struct thread_slot *slot, uint64_t block, const struct hook_island *island)
{
	uint64_t size;

	if (!island->companion || island->layout.flags & HS_LAYOUT_COMPANION)
		return 0;
	reentry_enter_original(slot);
	size = ((uint64_t(*)(uint64_t))island->companion)(block);
	(void)reentry_leave_original(slot); // a handler that forks here is one in the recorder: docs/target-safety.md
	return size;
}

// Whether a hooked function was called from the library that it is in: by a libc that frees its caches, say. `place` is
// where the return address lies. A program that has its allocator in itself cannot be told from that.
static bool is_called_from_own_library(uint64_t place, const struct hook_island *island)
{
	const struct hook_record *hook = (const struct hook_record *)region_at(HS_OFFSET_HOOKS) + island->hook_index;
	const struct module_record *module = (const struct module_record *)region_at(HS_OFFSET_MODULES) + hook->module;
	uint64_t caller = *(const uint64_t *)place;

	return hook->module < HS_MODULES_MAX && !(module->flags & MODULE_MAIN) && caller >= module->text_low &&
	       caller < module->text_high;
}

// A block that no record shows is given back. `size`: as the caller says; 0 = it does not. `place`: where the return
// address lies.
static void unknown_free(struct thread_slot *slot, uint64_t block, uint64_t size, const struct hook_island *island,
			 uint64_t place)
{
	uint64_t mark = freed_mark(block, island);
	// A function that gives a block back may call another one that does so; neither leaves a frame here. The second
	// one finds no record any more, but the block of the first one.
	bool again = freed_mark_is_of(slot->last_freed, block) && slot->last_freed != mark;

	// where not every block is recorded, one without a record is nothing special
	if (again || !region()->always_exact)
		return;
	slot->last_freed = mark;
	count_up(slot->shared.counters, COUNTER_unknown_frees, 1);
	if (is_called_from_own_library(place, island))
		count_up(slot->shared.counters, COUNTER_unknown_frees_own, 1);
	if (!size)
		size = usable_size(slot, block, island);
	if (!size)
		return;
	count_up(slot->shared.counters, COUNTER_unknown_free_sizes, 1);
	count_up(slot->shared.counters, COUNTER_unknown_free_bytes, size);
}

// A block that nobody has seen made goes: so it is when glibc gives back a thread's cache.
static void look_for_end(struct thread_slot *slot, uint64_t place)
{
	if (slot->shared.stack_high - place <= HS_START_FRAMES && unwind_is_thread_end(slot, place))
		thread_slot_release(slot);
}

// For a thread without a slot. The record itself stays unused; the block must not be shown as live.
static void goes_unseen(uint64_t block, struct block_place recorded_at)
{
	if (!is_recorded(recorded_at))
		return;
	removal_note(block, block_place_ref(recorded_at, block));
	(void)block_place_take(recorded_at, block);
}

void block_is_reallocated_unseen(uint64_t block)
{
	if (block && !thread_slot_current())
		goes_unseen(block, recorded(block));
}

void block_goes(uint64_t block, uint64_t size, const struct hook_island *island, uint64_t place)
{
	struct thread_slot *slot = thread_slot_current();
	uint64_t began = HS_UNLIKELY(slot && budget_times_release(slot)) ? arch_ticks_in_order() : 0;
	struct block_place recorded_at = recorded(block);
	enum nesting nesting;

	if (HS_UNLIKELY(!slot)) {
		goes_unseen(block, recorded_at);
		return;
	}
	nesting = reentry_enter(slot, place, island);
	// A nested free of a recorded block is the program's own all the same (by a handler that a longjmp has left,
	// say): what allocators free within a call is not recorded.
	if (HS_LIKELY(is_recorded(recorded_at))) {
		uint32_t ref = block_place_ref(recorded_at, block);

		removal_note(block, ref);
		ref = block_place_take(recorded_at, block);
		slot->last_freed = freed_mark(block, island);
		count_up(slot->shared.counters, COUNTER_frees, 1);
		// A signal handler leaves the interrupted recorder's lists alone. Within an original the recorder runs
		// again for this moment, and says so: to handlers, and to a tool that is to change nothing meanwhile.
		if (HS_LIKELY(nesting == OUTERMOST)) {
			if (HS_UNLIKELY(ref && ref == slot->last_record))
				temporary_count(slot, ref);
			if (HS_LIKELY(ref))
				record_gone(slot, ref, block);
		} else if (ref && nesting != REENTERED && reentry_leave_original(slot)) {
			record_gone(slot, ref, block);
			reentry_enter_original(slot);
		}
	} else if (nesting == OUTERMOST) {
		unknown_free(slot, block, size, island, place);
	} else if (nesting == NESTED) {
		count_up(slot->shared.counters, COUNTER_nested, 1);
	} else if (region()->always_exact) {
		count_up(slot->shared.counters, COUNTER_unknown_frees, 1);
	}
	if (HS_LIKELY(nesting == OUTERMOST)) {
		slot->releases++;
		slot->release_false_positives += !is_recorded(recorded_at);
		if (HS_UNLIKELY(began))
			budget_note_release(slot, began);
		reentry_leave(slot);
		if (HS_UNLIKELY(!is_recorded(recorded_at)))
			look_for_end(slot, place);
	}
}

void reallocation_begin(struct thread_slot *slot, uint64_t old_block, const struct hook_island *island,
			struct reallocation *ret)
{
	ret->old_block = old_block;
	ret->place = recorded(old_block);
	ret->old = is_recorded(ret->place) ? block_place_ref(ret->place, old_block) : 0;
	ret->old_size = 0;
	if (HS_LIKELY(ret->old != 0)) {
		__atomic_store_n(&slot->shared.pending_count, slot->shared.pending_count + 1, __ATOMIC_RELAXED);
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		slot->shared.pending_address = old_block;
		slot->shared.pending_new = 0;
		__atomic_store_n(&slot->shared.pending, ret->old, __ATOMIC_RELEASE);
		ret->old = block_place_take(ret->place, old_block);
		if (HS_UNLIKELY(ret->old != slot->shared.pending)) // downsampling has come in between
			__atomic_store_n(&slot->shared.pending, ret->old, __ATOMIC_RELEASE);
	} else if (old_block && region()->always_exact) {
		ret->old_size = usable_size(slot, old_block, island);
	}
}

// Whether the record has a place again. A narrow entry still is the block's own; a wide one may be that of a block
// within it, or around it, and one of the sample table any other's.
static bool put_back(struct thread_slot *slot, const struct reallocation *reallocation)
{
	struct block_place place = reallocation->place;
	uint64_t address = reallocation->old_block;

	if (HS_UNLIKELY(place.kind == PLACE_wide && !is_empty(place))) {
		place = live_place(slot, address, ((const struct block_record *)region_ref(reallocation->old))->size,
				   reallocation->old);
		replace_old(slot, place.kind, address);
	}
	return show(slot, place, reallocation->old, address);
}

void reallocation_cancel(struct thread_slot *slot, const struct reallocation *reallocation)
{
	bool is_back = false;

	if (reallocation->old) {
		is_back = put_back(slot, reallocation);
		removal_note(reallocation->old_block, reallocation->old);
	}
	__atomic_store_n(&slot->shared.pending, 0, __ATOMIC_RELEASE);
	if (HS_UNLIKELY(reallocation->old && !is_back)) {
		count_lost(slot, ((const struct block_record *)region_ref(reallocation->old))->size);
		record_gone(slot, reallocation->old, reallocation->old_block);
	}
}

static void count_old_block(struct thread_slot *slot, const struct reallocation *reallocation, bool gone)
{
	uint64_t *counters = slot->shared.counters;

	if (reallocation->old) {
		// realloc(block, 0) that returned NULL has freed the block.
		count_up(counters, gone ? COUNTER_frees : COUNTER_reallocations, 1);
		record_gone(slot, reallocation->old, reallocation->old_block);
		return;
	}
	if (!region()->always_exact)
		return;
	count_up(counters, gone ? COUNTER_unknown_frees : COUNTER_unknown_reallocations, 1);
	if (!reallocation->old_size)
		return;
	count_up(counters, gone ? COUNTER_unknown_free_sizes : COUNTER_unknown_reallocation_sizes, 1);
	count_up(counters, gone ? COUNTER_unknown_free_bytes : COUNTER_unknown_reallocation_bytes,
		 reallocation->old_size);
}

void reallocation_finish(struct thread_slot *slot, const struct reallocation *reallocation, uint64_t block,
			 uint64_t size, struct choice choice, const struct entry_frame *frame)
{
	uint32_t ref = 0;
	bool timed = false;

	if (block && choice.interval) {
		struct block_place room;

		timed = read_ticks(slot, choice);
		room = room_for(slot, block, size, choice);
		if (room.kind != PLACE_none)
			ref = new_record(slot, size, choice, frame);
		if (ref) {
			slot->shared.pending_new_address = block;
			__atomic_store_n(&slot->shared.pending_new, ref, __ATOMIC_RELEASE);
			if (HS_UNLIKELY(!publish(slot, room, ref, block)))
				ref = 0; // the old block is shown until `pending` is cleared
		}
	} else if (block) {
		slot->last_record = 0;
		slot->framed_calls++;
	}
	if (reallocation->old)
		removal_note_moved(reallocation->old_block, reallocation->old, block ? block : reallocation->old_block,
				   ref);
	__atomic_store_n(&slot->shared.pending, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&slot->shared.pending_new, 0, __ATOMIC_RELEASE);
	count_old_block(slot, reallocation, !block);
	if (HS_UNLIKELY(timed))
		after_recording(slot, size, choice);
}
