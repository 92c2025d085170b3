// SPDX-License-Identifier: Apache-2.0
// Claiming thread slots. Context: in a hook, at a thread's first call.
//
// The slots of one hash are a chain: the first one has a place of its own, others are made where all before are taken,
// and stay. A slot changes hands by compare-and-swap of its key. Nothing is read at a thread pointer before it is
// recognised as the libc's.
#include "inject/hook/thread_slot.h"

#include "inject/abi/libc_block.h"
#include "inject/sampling/sampling_credit.h"

// Bytes between a thread's stack pointer and its control block, where that lies above.
#define NEAR_STACK (UINT64_C(64) << 20)

// How many bytes from the thread pointer up may be read: those that are in its page. That this page is there is known
// of the main thread, whose block the tool has seen, and believed of one that lies shortly above the stack pointer,
// where pthread_create puts it. Of any other nothing is known: what a program has made the thread pointer may be no
// address at all.
static uint64_t readable_bytes(uint64_t thread_pointer, uint64_t sp)
{
	uint64_t size = payload_header.config.tcb_size, rest = HS_PAGE_SIZE - (thread_pointer & (HS_PAGE_SIZE - 1));

	if (thread_pointer % 8)
		return 0;
	if (size < 8)
		size = 8;
	if (thread_pointer == payload_header.config.main_thread_pointer)
		return size;
	if (thread_pointer - sp >= NEAR_STACK)
		return 0;
	return size < rest ? size : rest;
}

// Whether the libc has made what lies there. Its first word is its own address, in glibc also the third (tcbhead_t:
// tcb, dtv, self).
static bool is_known(uint64_t thread_pointer, uint64_t readable)
{
	const uint64_t *words = (const uint64_t *)thread_pointer;

	if (readable < 8 || payload_header.config.tid_offset + sizeof(uint32_t) > readable ||
	    words[0] != thread_pointer)
		return false;
	if (payload_header.config.tid_offset && !*(const uint32_t *)(thread_pointer + payload_header.config.tid_offset))
		return false;
	return payload_header.config.libc != LIBC_glibc || (readable >= 24 && words[2] == thread_pointer);
}

// The stack of a thread that pthread_create made, from the libc's own control block: the first words that fit. Whoever
// reads the stack still checks that the stack pointer lies in it.
static void find_stack(struct thread_slot *slot, uint64_t thread_pointer, uint64_t readable)
{
	const uint64_t *words = (const uint64_t *)thread_pointer;
	uint64_t count = readable < payload_header.config.tcb_size ? readable / 8 : payload_header.config.tcb_size / 8;
	bool is_musl = payload_header.config.libc == LIBC_musl;
	struct stack_range stack = { 0, 0 };

	if (thread_pointer == payload_header.config.main_thread_pointer) {
		slot->shared.stack_low = payload_header.config.main_stack_low;
		slot->shared.stack_high = payload_header.config.main_stack_high;
		return;
	}
	for (uint64_t i = 0; i < count; i++)
		if (is_musl ? libc_block_musl(words + i, count - i, thread_pointer, &stack)
			    : libc_block_glibc(words + i, count - i, thread_pointer, &stack))
			break;
	slot->shared.stack_low = stack.low;
	slot->shared.stack_high = stack.high;
}

// A libc that keeps no thread ids (static, and made for one thread) has only the main thread.
static uint32_t first_tid(uint64_t thread_pointer)
{
	if (!payload_header.config.tid_offset && thread_pointer == payload_header.config.main_thread_pointer)
		return (uint32_t)payload_header.config.main_tid;
	return thread_current_tid(thread_pointer);
}

static void note_thread(struct thread_slot *slot, uint32_t tid)
{
	struct region_header *header = region();
	uint32_t index = __atomic_fetch_add(&header->thread_count, 1, __ATOMIC_RELAXED);

	if (index < HS_THREAD_HISTORY_MAX) {
		struct thread_record *records = region_at(HS_OFFSET_THREADS);

		records[index].tid = tid;
	} else {
		index = HS_THREAD_HISTORY_MAX - 1; // shared by all that come later
		__atomic_store_n(&header->thread_count, HS_THREAD_HISTORY_MAX, __ATOMIC_RELAXED);
	}
	slot->thread = index;
}

void thread_slot_forget(const struct thread_slot *slot, uint64_t guard)
{
	uint64_t *guards = region()->forgotten_guards;

	if (!guard || guard == HS_GUARD_WATCHES || thread_slot_on_own_stack(slot, guard))
		return;
	for (unsigned i = 0; i < HS_FORGOTTEN_GUARDS; i++)
		if (__atomic_load_n(&guards[i], __ATOMIC_RELAXED) == guard)
			return;
	for (unsigned i = 0; i < HS_FORGOTTEN_GUARDS; i++) {
		uint64_t none = 0;

		if (__atomic_compare_exchange_n(&guards[i], &none, guard, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return;
	}
	__atomic_store_n(&region()->guards_lost, 1, __ATOMIC_RELAXED);
}

void thread_slot_recall(uint64_t guard)
{
	for (unsigned i = 0; i < HS_FORGOTTEN_GUARDS; i++) {
		uint64_t *place = &region()->forgotten_guards[i], expected = guard;

		if (__atomic_load_n(place, __ATOMIC_RELAXED) == guard) // hardly ever: no locked instruction otherwise
			__atomic_compare_exchange_n(place, &expected, 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	}
}

// What the slot's last thread has left during allocation functions is nobody's now: what was on its own stack is over,
// but a coroutine may go on in another thread. Where its stack was not known the two cannot be told apart, and all is
// taken for over.
static void forget_calls(struct thread_slot *slot)
{
	bool has_stack = slot->shared.stack_high != 0;

	if (has_stack && slot->shared.in_original)
		thread_slot_forget(slot, slot->shared.guard);
	slot->shared.guard = 0;
	for (unsigned i = 0; i < HS_LEFT_GUARDS; i++) {
		if (has_stack)
			thread_slot_forget(slot, slot->shared.left_guards[i]);
		slot->shared.left_guards[i] = 0;
	}
	slot->left_next = slot->shared.left_count = 0;
	if (slot->awaits)
		count_up(slot->shared.counters, COUNTER_abandoned, 1);
	slot->awaits = 0;
	for (unsigned i = 0; i < HS_LEFT_AWAITED; i++)
		slot->left_awaited[i].place = 0;
	slot->left_awaited_count = 0;
	slot->nested_in = 0;
}

// `readable`: of the control block; 0 = it is not known, and nothing is read.
// Nothing of sampling begins anew: the present call may be here because the predecessor's gap is over, and then it is
// the sample (docs/design.md).
static void begin_thread(struct thread_slot *slot, uint64_t thread_pointer, uint64_t readable)
{
	note_thread(slot, readable ? first_tid(thread_pointer) : 0);
	forget_calls(slot);
	slot->doubted_guard = 0;
	slot->shared.in_original = 0;
	slot->shared.pending = 0;
	slot->shared.pending_new = 0;
	slot->last_freed = 0;
	slot->last_record = 0;
	slot->walk_count = 0;
	slot->kept_generation = 0;
	slot->ticks_left = 0;
	credit_inherit(slot);
	find_stack(slot, thread_pointer, readable);
	slot->mark = readable ? thread_mark(thread_pointer) : 0;
}

static struct thread_slot *first_slot(uint64_t thread_pointer)
{
	return thread_slot_place(thread_slot_index(thread_pointer));
}

static struct thread_slot *next_slot(const struct thread_slot *slot)
{
	uint32_t page = __atomic_load_n(&slot->next, __ATOMIC_ACQUIRE);

	return page ? region_page(page) : NULL;
}

// Marks a slot with a place of its own, so that readers look at it. The others are in a list.
static void mark_used(const struct thread_slot *slot)
{
	uint64_t index = ((uint64_t)slot - (uint64_t)thread_slot_place(0)) / HS_SLOT_STRIDE;

	if (index < HS_THREAD_SLOTS)
		__atomic_fetch_or(&region()->used_slots[index / 64], UINT64_C(1) << (index % 64), __ATOMIC_RELAXED);
}

static uint64_t key_of(uint64_t thread_pointer, uint64_t readable)
{
	return readable ? thread_pointer : thread_pointer | HS_KEY_FOREIGN;
}

// Makes the slot the calling thread's if it still holds `key`.
static bool take(struct thread_slot *slot, uint64_t key, uint64_t thread_pointer, uint64_t readable)
{
	if (!__atomic_compare_exchange_n(&slot->shared.thread_pointer, &key, key_of(thread_pointer, readable), false,
					 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return false;
	mark_used(slot);
	begin_thread(slot, thread_pointer, readable);
	return true;
}

// The page of a new slot in which nobody has been; 0 = there is no room for one. It is in the list of those that
// readers look at.
static uint32_t make_slot(void)
{
	struct region_header *header = region();
	uint32_t index = __atomic_load_n(&header->extra_slot_count, __ATOMIC_RELAXED), page;
	uint32_t most = thread_extra_slots_max(header->max_pages - header->first_page);

	do {
		if (index >= most)
			return 0;
	} while (!__atomic_compare_exchange_n(&header->extra_slot_count, &index, index + 1, false, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	page = region_take_pages(HS_THREAD_SLOT_PAGES);
	if (page)
		__atomic_store_n((uint32_t *)region_at(HS_OFFSET_EXTRA_SLOTS) + index, page, __ATOMIC_RELEASE);
	return page;
}

// A new slot for the calling thread at the end of the chain. Others may put theirs there at the same time.
static struct thread_slot *add_slot(struct thread_slot *last, uint64_t thread_pointer, uint64_t readable)
{
	uint32_t page = make_slot(), end = 0;
	struct thread_slot *slot;

	if (!page)
		return NULL;
	slot = region_page(page);
	__atomic_store_n(&slot->shared.thread_pointer, key_of(thread_pointer, readable), __ATOMIC_RELAXED);
	begin_thread(slot, thread_pointer, readable);
	while (!__atomic_compare_exchange_n(&last->next, &end, page, false, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE)) {
		last = region_page(end);
		end = 0;
	}
	return slot;
}

// The slot has the calling thread's pointer. False = not any more.
static bool is_again(struct thread_slot *slot, uint64_t key, uint64_t thread_pointer, uint64_t readable)
{
	uint64_t rest = HS_PAGE_SIZE - (thread_pointer & (HS_PAGE_SIZE - 1)), whole;

	if (key & HS_KEY_FOREIGN) {
		if (!readable)
			return true;
		// The same thread, or one that has come after it: its first calls may have been on a coroutine's stack
		// (forget_calls).
		find_stack(slot, thread_pointer, readable);
		begin_thread(slot, thread_pointer, readable);
		__atomic_store_n(&slot->shared.thread_pointer, thread_pointer, __ATOMIC_RELEASE);
		return true;
	}
	if (key & HS_KEY_RELEASED && !__atomic_compare_exchange_n(&slot->shared.thread_pointer, &key, thread_pointer,
								  false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return false;
	// It was recognised before; on another stack nothing more is known of it, and nothing less.
	whole = thread_pointer == payload_header.config.main_thread_pointer || payload_header.config.tcb_size < rest
			? payload_header.config.tcb_size
			: rest;
	if (slot->mark != thread_mark(thread_pointer))
		begin_thread(slot, thread_pointer, whole < 8 ? 8 : whole);
	return true;
}

struct thread_slot *thread_slot_claim_at(uint64_t thread_pointer, uint64_t sp)
{
	uint64_t readable;

	if (!thread_pointer || thread_pointer & HS_KEY_FLAGS)
		return NULL;
	readable = readable_bytes(thread_pointer, sp);
	if (!is_known(thread_pointer, readable))
		readable = 0;
	else if (payload_header.config.tid_offset && readable < payload_header.config.tcb_size)
		// a block that begins as the libc's, up to its thread id, goes on as one, also in the next page
		readable = payload_header.config.tcb_size;
	for (;;) { // again when another thread was quicker
		struct thread_slot *slot = first_slot(thread_pointer), *last = slot, *unused = NULL;
		uint64_t unused_key = 0;

		for (; slot; slot = next_slot(slot)) {
			uint64_t key = __atomic_load_n(&slot->shared.thread_pointer, __ATOMIC_ACQUIRE);

			last = slot;
			if (thread_key_pointer(key) == thread_pointer && !(key & HS_KEY_ENDED)) {
				if (key & HS_KEY_SHARED)
					return NULL;
				if (is_again(slot, key, thread_pointer, readable))
					return slot;
				break;
			}
			if (!unused && !thread_key_is_taken(key) && !(key & HS_KEY_NOBODYS)) {
				unused = slot;
				unused_key = key;
			}
		}
		if (slot)
			continue;
		if (!unused)
			return add_slot(last, thread_pointer, readable);
		if (take(unused, unused_key, thread_pointer, readable))
			return unused;
	}
}

void thread_slot_note_shared(struct thread_slot *slot)
{
	uint64_t key = slot_key(slot);

	while (thread_key_is_taken(key) && !(key & HS_KEY_SHARED))
		if (__atomic_compare_exchange_n(&slot->shared.thread_pointer, &key, key | HS_KEY_SHARED, false,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED))
			break;
	__atomic_fetch_add(&region()->lost_shared_pointer, 1, __ATOMIC_RELAXED);
}

void thread_slot_count_lost(void)
{
	uint64_t thread_pointer = arch_thread_pointer();
	uint64_t *counter = &region()->lost_no_slot;
	const struct thread_slot *slot;

	if (!thread_pointer || thread_pointer & HS_KEY_FLAGS) {
		counter = &region()->lost_no_thread_pointer;
	} else {
		for (slot = first_slot(thread_pointer); slot; slot = next_slot(slot)) {
			uint64_t key = slot_key(slot);

			if (key & HS_KEY_SHARED && thread_key_pointer(key) == thread_pointer)
				counter = &region()->lost_shared_pointer;
		}
	}
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}
