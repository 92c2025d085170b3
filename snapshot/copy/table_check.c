// SPDX-License-Identifier: Apache-2.0
#include "snapshot/copy/table_check.h"

#include "attach/region/thread_slots.h"

void table_view_init(const struct region_layout *layout, const struct region_header *header, const void *bytes,
		     uint64_t size, struct table_view *ret)
{
	*ret = (struct table_view){ .layout = layout, .header = header, .bytes = bytes, .size = size };
	ret->damaged = !table_pages_init(header, size, &ret->pages);
}

const struct region_header *table_header(const struct table_view *view) { return view->header; }

// Whether a page was handed out while the copy was made.
static bool is_newer(const struct table_view *view, uint64_t page)
{
	return view->grew && page >= view->pages.end && page < table_header(view)->max_pages;
}

// A ref is a multiple of 32 bytes, and records and nodes are 32 bytes: one that begins in the pages ends in them.
static const void *resolve(struct table_view *view, uint32_t ref)
{
	uint64_t offset = (uint64_t)ref << HS_REF_SHIFT;

	if (offset < view->pages.first * HS_PAGE_SIZE || offset >= view->pages.end * HS_PAGE_SIZE) {
		view->damaged += !is_newer(view, offset / HS_PAGE_SIZE);
		return NULL;
	}
	return view->bytes + offset;
}

const struct block_record *table_record(struct table_view *view, uint32_t ref) { return resolve(view, ref); }

const struct stack_node *table_node(struct table_view *view, uint32_t ref) { return resolve(view, ref); }

const struct module_record *table_module(const struct table_view *view, uint32_t index)
{
	const struct module_record *modules =
		(const struct module_record *)(view->bytes + view->layout->modules.offset);
	uint32_t count = table_header(view)->module_count;

	return index < count && index < HS_MODULES_MAX && modules[index].ready ? &modules[index] : NULL;
}

const struct hook_record *table_hook(const struct table_view *view, uint32_t index)
{
	const struct stable_layout *layout = &view->layout->stable;

	if (index >= table_header(view)->stable.hook_count || index >= HS_HOOKS_MAX)
		return NULL;
	return (const struct hook_record *)(view->bytes + layout->hooks + (uint64_t)index * layout->hook_stride);
}

const char *table_module_path(const struct table_view *view, const struct module_record *module, size_t *size_ret)
{
	bool inside = module->path <= HS_STRINGS_SIZE && module->path_size <= HS_STRINGS_SIZE - module->path;

	*size_ret = inside ? module->path_size : 0;
	return (const char *)view->bytes + view->layout->strings.offset + (inside ? module->path : 0);
}

// What leads nowhere is counted.
static void note_astray(void *context, uint32_t page)
{
	struct table_view *view = context;

	view->damaged += !is_newer(view, page);
}

// The table of `pages` pages that begins at `page`; NULL = none there.
static const uint32_t *table_at(struct table_view *view, uint32_t page, uint64_t pages)
{
	if (!page)
		return NULL;
	if (!table_pages_hold(&view->pages, page, pages)) {
		note_astray(view, page);
		return NULL;
	}
	return (const uint32_t *)(view->bytes + (uint64_t)page * HS_PAGE_SIZE);
}

// A copy is there whole.
static const void *copied_bytes(void *context, enum table_level level, uint64_t offset, size_t size)
{
	const struct table_view *view = context;

	(void)level;
	(void)size;
	return view->bytes + offset;
}

static struct table_walk walk_of(struct table_view *view)
{
	return (struct table_walk){ view->layout, view->pages, copied_bytes, note_astray, view };
}

void table_visit_leaves(struct table_view *view, void (*visit)(const struct table_leaf *, void *), void *context)
{
	const struct table_walk walk = walk_of(view);

	table_walk_leaves(&walk, visit, context);
}

void table_visit_sample_buckets(struct table_view *view,
				void (*visit)(const uint64_t *entries, uint32_t bucket, void *), void *context)
{
	const struct table_walk walk = walk_of(view);

	table_walk_samples(&walk, visit, context);
}

struct block_visit {
	struct table_view *view;
	void (*visit)(uint64_t, uint32_t, const struct block_record *, void *);
	void *context;
};

static void visit_blocks_of(const struct table_leaf *leaf, void *context)
{
	const struct block_visit *visit = context;
	// a narrow leaf stands for less heap than a wide one
	const uint32_t *wide = leaf->is_wide ? NULL : table_wide_entry(visit->view, leaf->address);

	for (uint32_t i = 0; i < HS_LEAF_ENTRIES; i++) {
		struct live_block block = leaf_block(leaf->is_wide, leaf->address, i, leaf->entries[i]);
		const struct block_record *record = leaf->entries[i] ? table_record(visit->view, block.ref) : NULL;

		if (record && !(wide && wide_entry_ref_at(wide[i >> (HS_WIDE_SHIFT - HS_NARROW_SHIFT)], block.address)))
			visit->visit(block.address, block.ref, record, visit->context);
	}
}

bool table_sample_is_repeated(const uint64_t *entries, uint32_t index)
{
	for (uint32_t i = 0; i < index; i++)
		if (entries[i] && sample_entry_tag(entries[i]) == sample_entry_tag(entries[index]))
			return true;
	return false;
}

// Whatever an entry's tag is, it names an address that a block can have.
static void visit_samples_of(const uint64_t *entries, uint32_t bucket, void *context)
{
	const struct block_visit *visit = context;

	for (uint32_t i = 0; i < HS_SAMPLE_BUCKET_ENTRIES; i++) {
		uint32_t ref = sample_entry_ref(entries[i]);
		const struct block_record *record;

		if (!entries[i])
			continue;
		if (table_sample_is_repeated(entries, i)) {
			visit->view->damaged++;
			continue;
		}
		record = table_record(visit->view, ref);
		if (record)
			visit->visit(sample_address(bucket, entries[i]), ref, record, visit->context);
	}
}

static const uint64_t *sample_table(const struct table_view *view)
{
	return (const uint64_t *)(view->bytes + view->layout->samples.offset);
}

void table_visit_blocks(struct table_view *view,
			void (*visit)(uint64_t address, uint32_t ref, const struct block_record *, void *),
			void *context)
{
	struct block_visit blocks = { view, visit, context };

	table_visit_leaves(view, visit_blocks_of, &blocks);
	table_visit_sample_buckets(view, visit_samples_of, &blocks);
}

static bool is_block_address(uint64_t address) { return address >> HS_ADDRESS_BITS == 0 && (address & 7) == 0; }

static const uint32_t *live_entry(struct table_view *view, uint32_t root_index, uint32_t middle_index,
				  uint32_t leaf_index)
{
	const uint32_t *root = (const uint32_t *)(view->bytes + view->layout->root.offset);
	const uint32_t *table = table_at(view, root[root_index], HS_MIDDLE_PAGES);

	if (table)
		table = table_at(view, table[middle_index], HS_LEAF_PAGES);
	return table ? &table[leaf_index] : NULL;
}

const uint32_t *table_narrow_entry(struct table_view *view, uint64_t address)
{
	if (!is_block_address(address))
		return NULL;
	return live_entry(view, narrow_root_index(address), narrow_middle_index(address), narrow_leaf_index(address));
}

const uint32_t *table_wide_entry(struct table_view *view, uint64_t address)
{
	if (!is_block_address(address) || address & 15)
		return NULL;
	return live_entry(view, wide_root_index(address), wide_middle_index(address), wide_leaf_index(address));
}

// The entries of an address's bucket. pre: is_block_address(address)
static const uint64_t *sample_bucket_of(const struct table_view *view, uint64_t address)
{
	return sample_table(view) + (size_t)sample_bucket(sample_key(address)) * HS_SAMPLE_BUCKET_ENTRIES;
}

const uint64_t *table_sample_room(const struct table_view *view, uint64_t address)
{
	const uint64_t *entries = is_block_address(address) ? sample_bucket_of(view, address) : NULL;

	for (uint32_t i = 0; entries && i < HS_SAMPLE_BUCKET_ENTRIES; i++)
		if (!entries[i])
			return &entries[i];
	return NULL;
}

static uint32_t find_sample(const struct table_view *view, uint64_t address)
{
	const uint64_t *entries = is_block_address(address) ? sample_bucket_of(view, address) : NULL;

	for (uint32_t i = 0; entries && i < HS_SAMPLE_BUCKET_ENTRIES; i++)
		if (entries[i] && sample_entry_tag(entries[i]) == sample_tag(sample_key(address)))
			return sample_entry_ref(entries[i]);
	return 0;
}

uint32_t table_find_block(struct table_view *view, uint64_t address)
{
	const uint32_t *wide = table_wide_entry(view, address), *narrow;

	if (wide && wide_entry_ref_at(*wide, address))
		return wide_entry_ref_at(*wide, address);
	narrow = table_narrow_entry(view, address);
	return narrow && *narrow ? *narrow : find_sample(view, address);
}

const struct block_record *table_pending_record(struct table_view *view, const struct shared_slot *slot)
{
	if (!slot->pending)
		return NULL;
	if (slot->pending_new && table_find_block(view, slot->pending_new_address) == slot->pending_new)
		return NULL;
	if (table_find_block(view, slot->pending_address) == slot->pending)
		return NULL; // not yet taken out of the table, or put back
	return table_record(view, slot->pending);
}

static uint32_t next_node(struct table_view *view, uint32_t ref)
{
	const struct stack_node *node = table_node(view, ref);

	return node ? node->next : 0;
}

// The number of nodes of the loop that a chain ends in; 0 = it ends. *length_ret: of a chain that ends. Brent's way: a
// node is kept, a later one each time that twice as many have been passed, until it is met again.
static uint64_t find_loop(struct table_view *view, uint32_t first, uint64_t *length_ret)
{
	uint64_t power = 1, passed = 0;
	uint32_t kept = first, ref = first;

	*length_ret = 0;
	while (ref) {
		const struct stack_node *node = table_node(view, ref);

		if (!node)
			return 0;
		(*length_ret)++;
		passed++;
		ref = node->next;
		if (ref == kept)
			return passed;
		if (passed == power) {
			kept = ref;
			power *= 2;
			passed = 0;
		}
	}
	return 0;
}

// How many different nodes a chain has.
static uint64_t chain_length(struct table_view *view, uint32_t first)
{
	uint64_t length, loop = find_loop(view, first, &length);
	uint32_t ref = first, ahead = first;

	if (!loop)
		return length;
	view->damaged++;
	for (length = 0; length < loop; length++)
		ahead = next_node(view, ahead);
	for (; ref != ahead; length++) {
		ref = next_node(view, ref);
		ahead = next_node(view, ahead);
	}
	return length;
}

void table_visit_nodes(struct table_view *view, void (*visit)(uint32_t ref, const struct stack_node *, void *),
		       void *context)
{
	const uint32_t *buckets = (const uint32_t *)(view->bytes + view->layout->buckets.offset);
	// No more nodes than that fit: a hostile table may lead from many buckets into one chain.
	uint64_t left = table_pages_count(&view->pages) * (HS_PAGE_SIZE / sizeof(struct stack_node));

	for (uint32_t i = 0; (i = table_skip_empty_pages(buckets, i, HS_STACK_BUCKETS)) < HS_STACK_BUCKETS; i++) {
		uint32_t ref = buckets[i];

		for (uint64_t nodes = ref ? chain_length(view, ref) : 0; nodes > 0; nodes--) {
			const struct stack_node *node = table_node(view, ref);

			if (!node || left-- == 0) {
				view->damaged++;
				return;
			}
			visit(ref, node, context);
			ref = node->next;
		}
	}
}

bool table_extra_slot_fits(const struct region_layout *layout, uint64_t size, uint32_t page)
{
	return thread_slot_fits(&layout->stable, layout->pages / HS_PAGE_SIZE, size / HS_PAGE_SIZE, page);
}

static const struct shared_slot *extra_slot(const struct table_view *view, uint32_t index)
{
	const struct region_header *header = table_header(view);
	const uint32_t *pages = (const uint32_t *)(view->bytes + view->layout->stable.extra_slots);

	if (index >= header->extra_slot_count || !table_extra_slot_fits(view->layout, view->size, pages[index]))
		return NULL;
	return (const struct shared_slot *)(view->bytes + (uint64_t)pages[index] * HS_PAGE_SIZE);
}

const struct shared_slot *table_slot(const struct table_view *view, uint32_t index)
{
	const struct stable_layout *layout = &view->layout->stable;
	const struct shared_slot *slot =
		(const struct shared_slot *)(view->bytes + layout->slots + (uint64_t)index * layout->slot_stride);

	if (index >= HS_THREAD_SLOTS)
		slot = extra_slot(view, index - HS_THREAD_SLOTS);
	else if (!(table_header(view)->used_slots[index / 64] >> (index % 64) & 1))
		return NULL;
	return slot && slot->thread_pointer ? slot : NULL;
}

uint32_t table_thread_id(const struct table_view *view, uint32_t index)
{
	const uint32_t count = table_header(view)->thread_count;
	const struct thread_record *records =
		(const struct thread_record *)(const void *)(view->bytes + view->layout->threads.offset);

	return index < count && index < HS_THREAD_HISTORY_MAX ? records[index].tid : 0;
}

void table_visit_slots(const struct table_view *view, void (*visit)(const struct shared_slot *, void *), void *context)
{
	for (uint32_t i = 0; i < HS_THREAD_SLOTS_ALL; i++) {
		const struct shared_slot *slot = table_slot(view, i);

		if (slot)
			visit(slot, context);
	}
}
