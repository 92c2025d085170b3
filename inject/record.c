// SPDX-License-Identifier: Apache-2.0
// Context: in a hook. The list of batches is a lock-free stack; its head carries a tag, raised by every change, so that a head which
// was taken and came back (ABA) is noticed.
#include "record.h"

#include "thinning.h"

enum { FRESH_BATCH = 16 };

// The record may be taken and in use by now; then the word read is arbitrary, and the exchange of the head fails by its tag.
__attribute__((no_sanitize("thread"))) static uint32_t read_next_batch(uint32_t ref)
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

void record_share_batch(struct thread_slot *slot)
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
	for (unsigned i = RECORD_BATCH; i < slot->free_count; i++)
		slot->free_records[i - RECORD_BATCH] = slot->free_records[i];
	slot->free_count -= RECORD_BATCH;
	record = region_ref(first);
	head = __atomic_load_n(&header->free_batches, __ATOMIC_RELAXED);
	do {
		__atomic_store_n(&record->next_batch, (uint32_t)head, __ATOMIC_RELAXED);
	} while (!__atomic_compare_exchange_n(&header->free_batches, &head, first | ((head >> 32) + 1) << 32, false,
					      __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
}

uint32_t record_refill(struct thread_slot *slot)
{
	uint32_t ref, end;

	if (slot->fresh_record == slot->fresh_record_end) {
		uint32_t page;

		ref = take_batch(region());
		if (ref) {
			uint32_t next = ((const struct free_record *)region_ref(ref))->next;

			while (next && slot->free_count < RECORD_BATCH) {
				slot->free_records[slot->free_count++] = next;
				next = ((const struct free_record *)region_ref(next))->next;
			}
			return ref;
		}
		page = region_take_pages(1);
		if (!page)
			return 0;
		thinning_look(page);
		slot->fresh_record = page_first_ref(page);
		slot->fresh_record_end = page_first_ref(page + 1);
	}
	// Some at once, so that a heap that grows finds free records at hand (usual.h). Whoever is abandoned here loses some, and hands none out twice.
	ref = slot->fresh_record;
	end = slot->fresh_record_end - ref < FRESH_BATCH ? slot->fresh_record_end : ref + FRESH_BATCH;
	slot->fresh_record = end;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	while (--end > ref)
		slot->free_records[slot->free_count++] = end;
	return ref;
}

void totals_add_directly(uint32_t stack, uint64_t size)
{
	struct stack_node *node = region_ref(stack);

	__atomic_fetch_add(&node->alloc_objects, HS_OBJECTS_ONE, __ATOMIC_RELAXED);
	__atomic_fetch_add(&node->alloc_bytes, size << HS_BYTES_SHIFT, __ATOMIC_RELAXED);
}

void totals_flush(struct totals_entry *entry)
{
	uint32_t stack = entry->stack;
	uint64_t objects = entry->objects;
	uint64_t bytes = entry->bytes;
	struct stack_node *node;

	if (!stack)
		return;
	// A tool that looks between these lines misses the totals rather than seeing them twice.
	__atomic_store_n(&entry->stack, 0, __ATOMIC_RELEASE);
	node = region_ref(stack);
	__atomic_fetch_add(&node->alloc_objects, objects << HS_OBJECTS_SHIFT, __ATOMIC_RELAXED);
	__atomic_fetch_add(&node->alloc_bytes, bytes << HS_BYTES_SHIFT, __ATOMIC_RELAXED);
}
