// SPDX-License-Identifier: Apache-2.0
// Context: in a hook. The list of batches is a lock-free stack; its head carries a tag, raised by every change, so that
// a head which was taken and came back (ABA) is noticed.
#include "inject/table/record.h"

#include "inject/abi/sanitizer_marks.h"
#include "inject/table/stack_table.h"

enum { FRESH_BATCH = 16 };

// The record may be taken and in use by now; then the word read is arbitrary, and the exchange of the head fails by its
// tag.
HS_RACES static uint32_t read_next_batch(uint32_t ref)
{
	return __atomic_load_n(&((const struct free_record *)region_ref(ref))->next_batch, __ATOMIC_RELAXED);
}

static uint32_t take_batch(struct region_header *header)
{
	uint64_t head = __atomic_load_n(&header->free_batches, __ATOMIC_ACQUIRE);

	for (;;) {
		uint32_t ref = (uint32_t)head;
		uint64_t next;

		if (!ref)
			return 0;
		next = read_next_batch(ref) | ((head >> 32) + 1) << 32;
		if (__atomic_compare_exchange_n(&header->free_batches, &head, next, false, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE))
			return ref;
	}
}

uint32_t record_share_batch(struct thread_slot *slot)
{
	struct region_header *header = region();
	uint32_t first = slot->free_records[0];
	struct free_record *record = NULL;
	uint64_t head;

	// The oldest, those that are least likely in this processor's cache.
	for (unsigned i = 0; i < RECORD_BATCH; i++) {
		record = region_ref(slot->free_records[i]);
		record->next = i + 1 < RECORD_BATCH ? slot->free_records[i + 1] : 0;
	}
	for (unsigned i = RECORD_BATCH; i < HS_FREE_KEPT; i++)
		slot->free_records[i - RECORD_BATCH] = slot->free_records[i];
	slot->free_count = HS_FREE_KEPT - RECORD_BATCH;
	record = region_ref(first);
	head = __atomic_load_n(&header->free_batches, __ATOMIC_RELAXED);
	do {
		__atomic_store_n(&record->next_batch, (uint32_t)head, __ATOMIC_RELAXED);
	} while (!__atomic_compare_exchange_n(&header->free_batches, &head, first | ((head >> 32) + 1) << 32, false,
					      __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
	return HS_FREE_KEPT - RECORD_BATCH;
}

// A batch that all threads share, for a thread that has no record. Returns its first; 0 = there is none.
static uint32_t refill_from_batch(struct thread_slot *slot)
{
	uint32_t ref = take_batch(region()), next, count = 0;

	if (!ref)
		return 0;
	next = ((const struct free_record *)region_ref(ref))->next;
	while (next && count < RECORD_BATCH) {
		slot->free_records[count++] = next;
		next = ((const struct free_record *)region_ref(next))->next;
	}
	slot->free_count = count;
	return ref;
}

uint32_t record_refill(struct thread_slot *slot)
{
	uint32_t fresh = __atomic_load_n(&slot->fresh_record, __ATOMIC_RELAXED), ref, end, count = 0;

	// Some at once, so that a heap that grows finds free records at hand (fast_path.h). Whoever is abandoned here
	// loses some, and hands none out twice.
	do {
		ref = fresh;
		if (page_is_used_up(ref)) {
			uint32_t page, shared = refill_from_batch(slot);

			if (shared)
				return shared;
			page = region_take_pages(1);
			if (!page)
				return 0;
			ref = page_first_ref(page);
		}
		end = ref + FRESH_BATCH; // a page is a multiple of it
	} while (!__atomic_compare_exchange_n(&slot->fresh_record, &fresh, end, false, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	while (--end > ref)
		slot->free_records[count++] = end;
	slot->free_count = count;
	return ref;
}

void totals_add_directly(uint32_t stack, uint64_t size)
{
	struct stack_node *node = region_ref(stack);

	__atomic_fetch_add(&node->alloc_objects, HS_OBJECTS_ONE, __ATOMIC_RELAXED);
	__atomic_fetch_add(&node->alloc_bytes, size << HS_BYTES_SHIFT, __ATOMIC_RELAXED);
}

void temporaries_add_directly(struct thread_slot *slot, uint32_t stack, uint64_t objects)
{
	uint32_t ref = stack_table_node(slot, stack, (uint64_t)HS_FRAME_TEMPORARY << HS_FRAME_MODULE_SHIFT);

	if (ref)
		__atomic_fetch_add(&((struct stack_node *)region_ref(ref))->alloc_objects, objects, __ATOMIC_RELAXED);
	else
		count_up(slot->shared.counters, COUNTER_lost_temporaries, objects >> HS_OBJECTS_SHIFT);
}

void totals_flush(struct thread_slot *slot, uint32_t index)
{
	struct totals_entry *entry = &slot->shared.totals[index];
	uint32_t stack = entry->stack, temporaries = slot->shared.temporaries[index];
	uint64_t objects = entry->objects;
	uint64_t bytes = entry->bytes;
	struct stack_node *node;

	slot->shared.temporaries[index] = 0; // also of a stack whose move was abandoned
	if (!stack)
		return;
	// A tool that looks between these lines misses the totals rather than seeing them twice.
	__atomic_store_n(&entry->stack, 0, __ATOMIC_RELEASE);
	node = region_ref(stack);
	__atomic_fetch_add(&node->alloc_objects, objects << HS_OBJECTS_SHIFT, __ATOMIC_RELAXED);
	__atomic_fetch_add(&node->alloc_bytes, bytes << HS_BYTES_SHIFT, __ATOMIC_RELAXED);
	if (temporaries)
		temporaries_add_directly(slot, stack, (uint64_t)temporaries << HS_OBJECTS_SHIFT);
}
