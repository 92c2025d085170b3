// SPDX-License-Identifier: Apache-2.0
// Context: in a hook. A node is written whole before it becomes visible by the exchange of its bucket's head, and never
// changes afterwards but for its totals.
#include "inject/table/stack_table.h"

// A chain of the first buckets takes so many nodes; the others go into the second ones, which are so many that a few
// stacks would touch all of their pages.
enum { FIRST_CHAIN_MAX = 4 };

static uint64_t mix(uint32_t parent, uint64_t frame)
{
	uint64_t mixed = (frame ^ (uint64_t)parent << 29) * UINT64_C(0x9e3779b97f4a7c15);

	return (mixed ^ mixed >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
}

static uint32_t first_bucket(uint64_t mixed) { return (uint32_t)(mixed >> 32) & (HS_STACK_BUCKETS_FIRST - 1); }

static uint32_t second_bucket(uint64_t mixed)
{
	return HS_STACK_BUCKETS_FIRST + ((uint32_t)(mixed >> 46) & (HS_STACK_BUCKETS_SECOND - 1));
}

// Looks through a chain up to (not including) the node `end`, and counts the nodes.
static uint32_t find_in_chain(uint32_t ref, uint32_t end, uint32_t parent, uint64_t frame, uint32_t *length)
{
	while (ref != end && ref) {
		const struct stack_node *node = region_ref(ref);

		if (node->frame == frame && node->parent == parent)
			return ref;
		ref = node->next;
		++*length;
	}
	return 0;
}

// Taken out of the slot at once: abandoned by a longjmp, or handed out to another thread with the same slot, a node
// that is in a chain must not come again, or the chain becomes a circle.
static uint32_t take_node(struct thread_slot *slot)
{
	uint32_t fresh = __atomic_load_n(&slot->fresh_node, __ATOMIC_RELAXED), ref;

	do {
		ref = fresh;
		if (page_is_used_up(ref)) {
			uint32_t page = region_take_pages(1);

			if (!page)
				return 0;
			ref = page_first_ref(page);
		}
	} while (!__atomic_compare_exchange_n(&slot->fresh_node, &fresh, ref + 1, false, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	return ref;
}

// One that was not needed.
static void give_node(struct thread_slot *slot, uint32_t ref)
{
	uint32_t fresh = ref + 1;

	__atomic_compare_exchange_n(&slot->fresh_node, &fresh, ref, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

// A full chain stays as it is. So whoever has looked through it need not do so again, and all look on in the same
// second one.
uint32_t stack_table_node(struct thread_slot *slot, uint32_t parent, uint64_t frame)
{
	uint32_t *buckets = region_at(HS_OFFSET_BUCKETS);
	uint64_t mixed = mix(parent, frame);
	uint32_t *bucket = &buckets[first_bucket(mixed)], *first = bucket;
	uint32_t length = 0, seen = 0, ref = 0, head, found;

	for (;;) {
		struct stack_node *node;

		head = __atomic_load_n(bucket, __ATOMIC_ACQUIRE);
		found = find_in_chain(head, seen, parent, frame, &length);
		if (HS_LIKELY(found))
			break;
		if (bucket == first && length >= FIRST_CHAIN_MAX) {
			bucket = &buckets[second_bucket(mixed)];
			seen = 0;
			continue;
		}
		if (!ref)
			ref = take_node(slot);
		if (!ref)
			return 0;
		node = region_ref(ref);
		node->frame = frame;
		node->parent = parent;
		node->next = head;
		seen = head;
		if (__atomic_compare_exchange_n(bucket, &head, ref, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			return ref;
		// Others came first: perhaps one of them brought the same node.
	}
	if (HS_UNLIKELY(ref != 0))
		give_node(slot, ref);
	return found;
}
