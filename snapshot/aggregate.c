// SPDX-License-Identifier: Apache-2.0
#include "snapshot/aggregate.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

// Node refs are dense in the pages, but nodes are few among records: a sparse array finds a node's totals by its ref.
struct work {
	struct aggregate *result;
	struct table_view *view;
	size_t room;
	uint32_t *index;   // by ref - first ref: position in result->stacks + 1; 0 = none
	size_t index_size; // bytes
	bool no_memory;
};

static struct stack_totals *totals_of(struct work *work, uint32_t ref)
{
	uint32_t *slot;

	if (!table_node(work->view, ref) || work->no_memory)
		return NULL;
	slot = &work->index[ref - (uint32_t)(HS_OFFSET_PAGES >> HS_REF_SHIFT)];
	if (!*slot) {
		if (work->result->count == work->room) {
			size_t room = work->room ? work->room * 2 : 1024;
			struct stack_totals *stacks = reallocarray(work->result->stacks, room, sizeof(*stacks));

			if (!stacks) {
				work->no_memory = true;
				return NULL;
			}
			work->result->stacks = stacks;
			work->room = room;
		}
		work->result->stacks[work->result->count] = (struct stack_totals){ .node = ref };
		*slot = (uint32_t)++work->result->count;
	}
	return &work->result->stacks[*slot - 1];
}

static void add_live(struct work *work, const struct block_record *record)
{
	struct stack_totals *totals = totals_of(work, record->stack);

	work->result->live_objects++;
	work->result->live_bytes += record->size;
	if (!totals)
		return;
	totals->live_objects++;
	totals->live_bytes += record->size;
}

static void visit_block(uint64_t address, uint32_t ref, const struct block_record *record, void *context)
{
	(void)address;
	(void)ref;
	add_live(context, record);
}

static void visit_node(uint32_t ref, const struct stack_node *node, void *context)
{
	struct stack_totals *totals;

	if (!node->alloc_objects)
		return;
	totals = totals_of(context, ref);
	if (!totals)
		return;
	totals->alloc_objects += node->alloc_objects >> HS_OBJECTS_SHIFT;
	totals->alloc_bytes += node->alloc_bytes >> HS_BYTES_SHIFT;
}

// A block that is being reallocated is in `pending` until the table holds its successor.
static void visit_pending(struct work *work, const struct thread_slot *slot)
{
	const struct block_record *record;

	if (!slot->pending)
		return;
	if (slot->pending_new && table_find_block(work->view, slot->pending_new_address) == slot->pending_new)
		return;
	if (table_find_block(work->view, slot->pending_address) == slot->pending)
		return; // not yet taken out of the table, or put back
	record = table_record(work->view, slot->pending);
	if (!record)
		return;
	work->result->pending++;
	add_live(work, record);
}

static void visit_slot(const struct thread_slot *slot, void *context)
{
	struct work *work = context;

	work->result->threads++;
	for (size_t i = 0; i < HS_COUNTER_SLOTS; i++)
		work->result->counters[i] += slot->counters[i];
	for (size_t i = 0; i < CUT_REASON_COUNT; i++)
		work->result->cut_counters[i] += slot->cut_counters[i];
	for (size_t i = 0; i < HS_TOTALS_ENTRIES; i++) {
		const struct totals_entry *entry = &slot->totals[i];
		struct stack_totals *totals = entry->stack ? totals_of(work, entry->stack) : NULL;

		if (!totals)
			continue;
		totals->alloc_objects += entry->objects;
		totals->alloc_bytes += entry->bytes;
	}
	visit_pending(work, slot);
}

struct hs_error *aggregate_make(struct table_view *view, struct aggregate *ret)
{
	const struct region_header *header = table_header(view);
	const struct stack_node *full;
	struct work work = { .result = ret, .view = view };

	*ret = (struct aggregate){ 0 };
	work.index_size = (view->end_page + 1 - HS_OFFSET_PAGES / HS_PAGE_SIZE) * (HS_PAGE_SIZE >> HS_REF_SHIFT) * sizeof(uint32_t);
	work.index = mmap(NULL, work.index_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (work.index == MAP_FAILED)
		return hs_error_system(errno, "no address space to add up the stacks");
	table_visit_blocks(view, visit_block, &work);
	table_visit_nodes(view, visit_node, &work);
	full = table_node(view, (uint32_t)(HS_OFFSET_PAGES >> HS_REF_SHIFT)); // in no bucket
	if (full)
		visit_node((uint32_t)(HS_OFFSET_PAGES >> HS_REF_SHIFT), full, &work);
	table_visit_slots(view, visit_slot, &work);
	for (size_t i = 0; i < HS_COUNTER_SLOTS; i++)
		ret->counters[i] += header->counters[i];
	for (size_t i = 0; i < CUT_REASON_COUNT; i++)
		ret->cut_counters[i] += header->cut_counters[i];
	for (size_t i = 0; i < ret->count; i++) {
		struct stack_totals *totals = &ret->stacks[i];

		// A thread stopped while it moved its totals to the node has them in its registers only.
		if (totals->alloc_objects < totals->live_objects)
			totals->alloc_objects = totals->live_objects;
		if (totals->alloc_bytes < totals->live_bytes)
			totals->alloc_bytes = totals->live_bytes;
	}
	munmap(work.index, work.index_size);
	if (work.no_memory) {
		aggregate_deinit(ret);
		return &hs_error_no_memory;
	}
	return NULL;
}

void aggregate_deinit(struct aggregate *aggregate)
{
	free(aggregate->stacks);
	aggregate->stacks = NULL;
	aggregate->count = 0;
}
