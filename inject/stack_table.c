// SPDX-License-Identifier: Apache-2.0
// Context: in a hook. A node is written whole before it becomes visible by the exchange of its bucket's head, and never changes
// afterwards but for its totals.
#include "stack_table.h"

static uint32_t bucket_index(uint32_t parent, uint64_t frame)
{
	uint64_t mixed = (frame ^ (uint64_t)parent << 29) * UINT64_C(0x9e3779b97f4a7c15);

	return (uint32_t)((mixed ^ mixed >> 29) * UINT64_C(0xbf58476d1ce4e5b9) >> 40) & (HS_STACK_BUCKETS - 1);
}

// Looks through a chain up to (not including) the node `end`.
static uint32_t find_in_chain(uint32_t ref, uint32_t end, uint32_t parent, uint64_t frame)
{
	while (ref != end && ref) {
		const struct stack_node *node = region_ref(ref);

		if (node->frame == frame && node->parent == parent)
			return ref;
		ref = node->next;
	}
	return 0;
}

static uint32_t take_node(struct thread_slot *slot)
{
	if (slot->fresh_node == slot->fresh_node_end) {
		uint32_t page = region_take_pages(1);

		if (!page)
			return 0;
		slot->fresh_node = page_first_ref(page);
		slot->fresh_node_end = page_first_ref(page + 1);
	}
	return slot->fresh_node;
}

uint32_t stack_table_node(struct thread_slot *slot, uint32_t parent, uint64_t frame)
{
	uint32_t *buckets = region_at(HS_OFFSET_BUCKETS);
	uint32_t *bucket = &buckets[bucket_index(parent, frame)];
	uint32_t head = __atomic_load_n(bucket, __ATOMIC_ACQUIRE);
	uint32_t found = find_in_chain(head, 0, parent, frame);
	struct stack_node *node;
	uint32_t ref;

	if (HS_LIKELY(found))
		return found;
	ref = take_node(slot);
	if (!ref)
		return 0;
	node = region_ref(ref);
	// Before it is published: abandoned by a longjmp in between, a node that is in a chain must not be handed out again, or the
	// chain becomes a circle.
	slot->fresh_node = ref + 1;
	node->frame = frame;
	node->parent = parent;
	for (;;) {
		uint32_t seen = head;

		node->next = head;
		if (__atomic_compare_exchange_n(bucket, &head, ref, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
			return ref;
		}
		// Others came first: perhaps one of them brought the same node.
		found = find_in_chain(head, seen, parent, frame);
		if (found) {
			slot->fresh_node = ref;
			return found;
		}
	}
}
