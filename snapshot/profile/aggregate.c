// SPDX-License-Identifier: Apache-2.0
#include "snapshot/profile/aggregate.h"

#include "base/array.h"
#include "snapshot/profile/hook_labels.h"
#include "snapshot/profile/word_index.h"
#include "snapshot/size_age.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>

// Node refs are dense in the pages, but nodes are few among records: a sparse array finds a node's totals by its ref.
struct work {
	struct record_filter filter;
	const struct block_selection *selection;
	unsigned labels;                         // enum block_label
	struct birth_line ages[AGE_CLASSES - 1]; // where each class of ages but the youngest begins
	struct hook_labels hooks;                // where kinds or allocators are asked for
	struct aggregate *result;
	struct table_view *view;
	uint32_t *index;           // by ref - first ref: position in result->stacks + 1; 0 = none
	size_t index_size;         // bytes
	struct word_index keys;    // all that a block has beside its stack: key_of
	struct word_index epochs;  // where that is asked for, epoch and number of the key
	struct word_index cohorts; // ref and number of result->cohorts, in their order
	struct word_index counted; // ref and number of the key of result->counted, in its order
	bool no_memory;
};

static struct stack_totals *append(struct work *work, struct stack_list *list, struct stack_totals totals)
{
	if (ARRAY_RESERVE(list->items, list->count + 1, &list->room)) {
		work->no_memory = true;
		return NULL;
	}
	list->items[list->count] = totals;
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
	return append(work, stacks, (struct stack_totals){ .node = ref });
}

// 0 where nothing proves that it is in one class.
static uint8_t age_class(const struct work *work, const struct block_record *record)
{
	unsigned class = 1;

	while (class < AGE_CLASSES) {
		switch (birth_line_side(&work->ages[class - 1], record)) {
		case BORN_AFTER:
			return (uint8_t) class;
		case BORN_UNSURE:
			return 0;
		default:
			class ++;
		}
	}
	return (uint8_t) class;
}

static struct profile_labels labels_of(const struct work *work, const struct block_record *record)
{
	struct profile_labels labels = { 0 };

	if (work->labels & LABEL_THREAD)
		labels.thread = record->thread + 1;
	if (work->labels & LABEL_SIZE)
		labels.size =
			(uint8_t)size_class_index(record->size ? record->size & INT64_MAX : 1); // a label's number
	if (work->labels & LABEL_AGE)
		labels.age = age_class(work, record);
	if (work->labels & LABEL_DUMP)
		labels.epoch = record->epoch;
	if (work->labels & LABEL_KIND)
		labels.kind = hook_label(work->hooks.kind, record);
	if (work->labels & LABEL_ALLOCATOR)
		labels.allocator = hook_label(work->hooks.allocator, record);
	return labels;
}

_Static_assert(SIZE_CLASSES < 1 << 7 && AGE_CLASSES < 1 << 4 && HS_SAMPLES_MAX < 1 << 11, "43 bits with the thread");
_Static_assert(HS_HOOKS_MAX < 1 << 10, "and twice 10 for its hook");

// 0 = nothing is said of the block.
static uint64_t key_of(const struct profile_labels *labels, uint32_t samples)
{
	return (uint64_t)labels->kind << 53 | (uint64_t)labels->allocator << 43 | (uint64_t)labels->thread << 22 |
	       (uint64_t)labels->size << 15 | (uint64_t)labels->age << 11 | samples;
}

static struct stack_totals *totals_counted(struct work *work, uint32_t ref, uint64_t key,
					   const struct block_record *record, const struct profile_labels *labels)
{
	uint32_t number;
	bool is_new;

	if (!table_node(work->view, ref) || work->no_memory)
		return NULL;
	number = word_index_add(&work->keys, key, &is_new);
	if (number != UINT32_MAX && labels->epoch)
		number = word_index_add(&work->epochs, (uint64_t)labels->epoch << 32 | number, &is_new);
	if (number != UINT32_MAX)
		number = word_index_add(&work->counted, (uint64_t)ref << 32 | number, &is_new);
	if (number == UINT32_MAX) {
		work->no_memory = true;
		return NULL;
	}
	return is_new ? append(work, &work->result->counted,
			       (struct stack_totals){
				       .node = ref, .samples_per_block = record->samples, .labels = *labels })
		      : &work->result->counted.items[number];
}

// The number of the last snapshot that was over by then, counted from 1.
static uint32_t cohort_of(const struct block_selection *selection, uint32_t epoch)
{
	for (size_t i = selection->cohort_epoch_count; i > 0; i--)
		if (selection->cohort_epochs[i - 1] && selection->cohort_epochs[i - 1] <= epoch)
			return (uint32_t)i;
	return 0;
}

static void add_to_cohort(struct work *work, const struct block_record *record)
{
	struct cohort_list *cohorts = &work->result->cohorts;
	const uint32_t cohort = cohort_of(work->selection, record->epoch);
	uint32_t number;
	bool is_new;

	if (work->no_memory)
		return;
	number = word_index_add(&work->cohorts, (uint64_t)record->stack << 32 | cohort, &is_new);
	if (number == UINT32_MAX || (is_new && ARRAY_RESERVE(cohorts->items, cohorts->count + 1, &cohorts->room))) {
		work->no_memory = true;
		return;
	}
	if (is_new)
		cohorts->items[cohorts->count++] = (struct cohort_totals){ .node = record->stack, .number = cohort };
	estimate_add(&cohorts->items[number].live, record);
}

static void add_live(struct work *work, const struct block_record *record)
{
	struct aggregate *result = work->result;
	const struct profile_labels labels = labels_of(work, record);
	const uint64_t key = key_of(&labels, record->samples);
	const enum filter_answer answer = work->filter.is_used ? record_filter_judge(&work->filter, record) : FILTER_IN;
	struct stack_totals *totals = NULL;

	estimate_add(&result->live, record);
	if (answer == FILTER_UNDECIDED)
		estimate_add(&result->undecided, record);
	if (answer == FILTER_IN)
		totals = key || labels.epoch ? totals_counted(work, record->stack, key, record, &labels)
					     : totals_of(work, record->stack);
	if (totals)
		estimate_add(&totals->live, record);
	if (totals && work->selection->cohort_epoch_count)
		add_to_cohort(work, record);
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
	const bool is_temporary = node->frame >> HS_FRAME_MODULE_SHIFT == HS_FRAME_TEMPORARY;
	struct stack_totals *totals;

	if (!node->alloc_objects || ((struct work *)context)->filter.is_used)
		return;
	totals = totals_of(context, is_temporary ? node->parent : ref);
	if (!totals)
		return;
	if (is_temporary) {
		totals->temporary_objects += (double)node->alloc_objects / HS_OBJECTS_ONE;
		return;
	}
	totals->alloc_objects += (double)node->alloc_objects / HS_OBJECTS_ONE;
	totals->alloc_bytes += (double)node->alloc_bytes / HS_BYTES_ONE;
}

static void visit_pending(struct work *work, const struct shared_slot *slot)
{
	const struct block_record *record = table_pending_record(work->view, slot);

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
	for (size_t i = 0; i < HS_TOTALS_ENTRIES && !work->filter.is_used; i++) {
		const struct totals_entry *entry = &slot->totals[i];
		struct stack_totals *totals = entry->stack ? totals_of(work, entry->stack) : NULL;

		if (!totals)
			continue;
		totals->alloc_objects += entry->objects;
		totals->alloc_bytes += (double)entry->bytes;
		totals->temporary_objects += slot->temporaries[i];
	}
	visit_pending(work, slot);
}

static void note(struct work *work, const struct block_record *record)
{
	record_filter_note(&work->filter, record);
	for (size_t i = 0; i < AGE_CLASSES - 1 && work->labels & LABEL_AGE; i++)
		birth_line_note(&work->ages[i], record);
}

static void note_block(uint64_t address, uint32_t ref, const struct block_record *record, void *context)
{
	(void)address;
	(void)ref;
	note(context, record);
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

// What was given back is not live. A tool that looks while a thread counts may see more.
static void bound_temporaries(struct stack_totals *totals)
{
	totals->temporary_objects = fmin(totals->temporary_objects, totals->alloc_objects - totals->live.objects);
}

static void settle(struct work *work)
{
	struct aggregate *result = work->result;

	for (size_t i = 0; i < result->counted.count; i++) {
		struct stack_totals *counted = &result->counted.items[i];
		struct stack_totals *rest;

		raise_to_live(counted);
		if (work->filter.is_used)
			continue; // nothing is known of what was freed
		rest = totals_of(work, counted->node);
		if (!rest)
			return;
		rest->alloc_objects -= counted->live.objects;
		rest->alloc_bytes -= counted->live.bytes;
	}
	for (size_t i = 0; i < result->stacks.count; i++) {
		raise_to_live(&result->stacks.items[i]);
		bound_temporaries(&result->stacks.items[i]);
	}
	for (size_t i = 0; i < result->cohorts.count && totals_of(work, result->cohorts.items[i].node); i++)
		result->cohorts.items[i].stack =
			work->index[result->cohorts.items[i].node - table_first_ref(work->view)] - 1;
}

static struct hs_error *begin(struct work *work, const struct aggregate_options *options)
{
	const uint32_t ticks_per_us = table_header(work->view)->ticks_per_us;
	struct hs_error *error = NULL;

	work->selection = options->selection;
	work->result->has_cohorts = options->selection->cohort_epoch_count > 0;
	work->labels = options->selection->labels;
	if (work->labels & (LABEL_KIND | LABEL_ALLOCATOR))
		error = hook_labels_find(work->view, &work->hooks);
	if (!error && work->labels & LABEL_AGE && !ticks_per_us)
		return hs_error_create(HS_ERROR_BAD_DATA, "the region does not say how fast its clock is");
	for (unsigned i = 0; i < AGE_CLASSES - 1 && work->labels & LABEL_AGE && !error; i++)
		error = birth_line_init(&work->ages[i],
					ticks_before(options->now, (uint64_t)age_class_least(i + 2), ticks_per_us));
	if (!error)
		error = record_filter_init(work->view, options->selection, options->names, options->now, &work->filter);
	return error;
}

static void end(struct work *work)
{
	record_filter_deinit(&work->filter);
	for (size_t i = 0; i < AGE_CLASSES - 1; i++)
		birth_line_deinit(&work->ages[i]);
	word_index_deinit(&work->keys);
	word_index_deinit(&work->epochs);
	word_index_deinit(&work->cohorts);
	word_index_deinit(&work->counted);
	if (work->index)
		munmap(work->index, work->index_size);
}

static struct hs_error *make_index(struct work *work)
{
	void *index;

	work->index_size =
		(table_pages_count(&work->view->pages) + 1) * (HS_PAGE_SIZE >> HS_REF_SHIFT) * sizeof(uint32_t);
	index = mmap(NULL, work->index_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		     0);
	if (index == MAP_FAILED)
		return hs_error_system(errno, "no address space to add up the stacks");
	work->index = index;
	return NULL;
}

static void add_up(struct work *work)
{
	const struct region_header *header = table_header(work->view);
	struct aggregate *result = work->result;
	const struct stack_node *full;

	if (work->labels & LABEL_AGE || record_filter_looks_first(&work->filter))
		table_visit_blocks(work->view, note_block, work);
	table_visit_blocks(work->view, visit_block, work);
	table_visit_nodes(work->view, visit_node, work);
	full = table_node(work->view, table_first_ref(work->view)); // in no bucket
	if (full)
		visit_node(table_first_ref(work->view), full, work);
	table_visit_slots(work->view, visit_slot, work);
	for (size_t i = 0; i < HS_COUNTER_SLOTS; i++)
		result->counters[i] += header->counters[i];
	for (size_t i = 0; i < CUT_REASON_COUNT; i++)
		result->cut_counters[i] += header->cut_counters[i];
	settle(work);
}

struct hs_error *aggregate_make_of(struct table_view *view, const struct aggregate_options *options,
				   struct aggregate *ret)
{
	struct work work = { .result = ret, .view = view };
	struct hs_error *error;

	*ret = (struct aggregate){ 0 };
	error = begin(&work, options);
	if (!error)
		error = make_index(&work);
	if (!error)
		add_up(&work);
	if (!error && work.no_memory)
		error = &hs_error_no_memory;
	end(&work);
	if (error)
		aggregate_deinit(ret);
	return error;
}

struct hs_error *aggregate_make(struct table_view *view, struct aggregate *ret)
{
	return aggregate_make_of(
		view, &(struct aggregate_options){ &(struct block_selection){ 0 }, &(struct thread_names){ 0 }, 0 },
		ret);
}

void aggregate_deinit(struct aggregate *aggregate)
{
	free(aggregate->stacks.items);
	free(aggregate->counted.items);
	free(aggregate->cohorts.items);
	aggregate->cohorts = (struct cohort_list){ 0 };
	aggregate->stacks = aggregate->counted = (struct stack_list){ 0 };
}
