// SPDX-License-Identifier: Apache-2.0
#include "snapshot/profile/aggregate.h"

#include "base/array.h"
#include "snapshot/profile/word_index.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>

// Node refs are dense in the pages, but nodes are few among records: a sparse array finds a node's totals by its ref.
struct work {
	struct aggregate *result;
	struct table_view *view;
	uint32_t *index;           // by ref - first ref: position in result->stacks + 1; 0 = none
	size_t index_size;         // bytes
	struct word_index counted; // ref and samples_per_block of result->counted, in its order
	bool no_memory;
};

static struct stack_totals *append(struct work *work, struct stack_list *list, uint32_t ref, uint32_t samples)
{
	if (ARRAY_RESERVE(list->items, list->count + 1, &list->room)) {
		work->no_memory = true;
		return NULL;
	}
	list->items[list->count] = (struct stack_totals){ .node = ref, .samples_per_block = samples };
	return &list->items[list->count++];
}

static struct stack_totals *totals_of(struct work *work, uint32_t ref)
{
	struct stack_list *stacks = &work->result->stacks;
	uint32_t *slot;

	if (!table_node(work->view, ref) || work->no_memory)
		return NULL;
	slot = &work->index[ref - table_first_ref(work->view)];
	if (*slot)
		return &stacks->items[*slot - 1];
	*slot = (uint32_t)stacks->count + 1;
	return append(work, stacks, ref, 0);
}

static struct stack_totals *totals_counted(struct work *work, uint32_t ref, uint32_t samples)
{
	uint32_t number;
	bool is_new;

	if (!table_node(work->view, ref) || work->no_memory)
		return NULL;
	number = word_index_add(&work->counted, (uint64_t)ref << 32 | samples, &is_new);
	if (number == UINT32_MAX) {
		work->no_memory = true;
		return NULL;
	}
	return is_new ? append(work, &work->result->counted, ref, samples) : &work->result->counted.items[number];
}

static void add_live(struct work *work, const struct block_record *record)
{
	struct aggregate *result = work->result;
	struct stack_totals *totals =
		record->samples ? totals_counted(work, record->stack, record->samples) : totals_of(work, record->stack);

	estimate_add(&result->live, record);
	if (totals)
		estimate_add(&totals->live, record);
	if (record->interval <= 1)
		return;
	result->sampled++;
	if (record->interval < result->interval_low || !result->interval_low)
		result->interval_low = record->interval;
	if (record->interval > result->interval_high)
		result->interval_high = record->interval;
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
	totals->alloc_objects += (double)node->alloc_objects / HS_OBJECTS_ONE;
	totals->alloc_bytes += (double)node->alloc_bytes / HS_BYTES_ONE;
}

// A block that is being reallocated is in `pending` until the table holds its successor.
static void visit_pending(struct work *work, const struct shared_slot *slot)
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

static void visit_slot(const struct shared_slot *slot, void *context)
{
	struct work *work = context;

	work->result->threads++;
	if (thread_key_is_taken(slot->thread_pointer) && slot->interval > work->result->slots_interval &&
	    slot->interval <= HS_INTERVAL_MAX)
		work->result->slots_interval = slot->interval;
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
		totals->alloc_bytes += (double)entry->bytes;
	}
	visit_pending(work, slot);
}

// What is live was allocated. Estimates say so as well, because a block adds the same weight to both; but a thread
// stopped while it moved its totals to the node has them in its registers only, a node's weights are rounded (fixed
// point), and a sample that is kept when its interval is raised weighs more than it did. What is live is what the
// records show, so it stands.
static void raise_to_live(struct stack_totals *totals)
{
	totals->alloc_objects = fmax(totals->alloc_objects, totals->live.objects);
	totals->alloc_bytes = fmax(totals->alloc_bytes, totals->live.bytes);
}

static void settle(struct work *work)
{
	struct aggregate *result = work->result;

	for (size_t i = 0; i < result->counted.count; i++) {
		struct stack_totals *counted = &result->counted.items[i];
		struct stack_totals *rest = totals_of(work, counted->node);

		raise_to_live(counted);
		if (!rest)
			return;
		rest->alloc_objects -= counted->live.objects;
		rest->alloc_bytes -= counted->live.bytes;
	}
	for (size_t i = 0; i < result->stacks.count; i++)
		raise_to_live(&result->stacks.items[i]);
}

struct hs_error *aggregate_make(struct table_view *view, struct aggregate *ret)
{
	const struct region_header *header = table_header(view);
	const struct stack_node *full;
	struct work work = { .result = ret, .view = view };

	*ret = (struct aggregate){ 0 };
	work.index_size = (table_pages_count(&view->pages) + 1) * (HS_PAGE_SIZE >> HS_REF_SHIFT) * sizeof(uint32_t);
	work.index =
		mmap(NULL, work.index_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (work.index == MAP_FAILED)
		return hs_error_system(errno, "no address space to add up the stacks");
	table_visit_blocks(view, visit_block, &work);
	table_visit_nodes(view, visit_node, &work);
	full = table_node(view, table_first_ref(view)); // in no bucket
	if (full)
		visit_node(table_first_ref(view), full, &work);
	table_visit_slots(view, visit_slot, &work);
	for (size_t i = 0; i < HS_COUNTER_SLOTS; i++)
		ret->counters[i] += header->counters[i];
	for (size_t i = 0; i < CUT_REASON_COUNT; i++)
		ret->cut_counters[i] += header->cut_counters[i];
	settle(&work);
	word_index_deinit(&work.counted);
	munmap(work.index, work.index_size);
	if (work.no_memory) {
		aggregate_deinit(ret);
		return &hs_error_no_memory;
	}
	return NULL;
}

void aggregate_deinit(struct aggregate *aggregate)
{
	free(aggregate->stacks.items);
	free(aggregate->counted.items);
	aggregate->stacks = aggregate->counted = (struct stack_list){ 0 };
}
