// SPDX-License-Identifier: Apache-2.0
// docs/consistency.md has the protocol, and why the order of these steps is right.
#include "snapshot/copy/running_copy.h"

#include "attach/guard/interrupt.h"
#include "attach/region/thread_slots.h"
#include "snapshot/copy/racing_memory.h"
#include "snapshot/copy/table_check.h"

#include <stdlib.h>

// How many leaves are settled before the pages of the region that were read for it are given up: they are not the
// tool's memory, but count as that.
enum { LEAVES_STEP = 256 };

struct work {
	struct running_cut *cut;
	struct table_copy *copy;
	struct table_view view; // of the copy
	struct running_report *report;
	struct log_entry *pending; // reallocations under way, at most one for each thread
	uint32_t pending_count;
	uint32_t leaves;                    // settled since the region's own pages were given up
	struct log_entry *beside;           // blocks that find no entry in the copy, because others have theirs
	uint32_t beside_count, beside_room; // as many as slots are in use
};

// The same place in the region itself.
static const void *shared(const struct work *work, const void *copied)
{
	return work->cut->bytes + ((const uint8_t *)copied - work->copy->bytes);
}

// Readers of a copy may not write; whoever makes it may.
static void *writable(const struct work *work, const void *copied)
{
	return work->copy->bytes + ((const uint8_t *)copied - work->copy->bytes);
}

// The copied record of a ref, if it lies where something was written when its page was copied; an old record does.
static struct block_record *copied_record(struct work *work, uint32_t ref)
{
	const struct block_record *record = table_record(&work->view, ref);

	return record && table_copy_has(work->copy, (uint64_t)ref << HS_REF_SHIFT) ? writable(work, record) : NULL;
}

// Whether the entry read `seen`, which names the record `ref`, at the cut and still does; then the record is in the
// copy.
static bool settle_record(struct work *work, const uint32_t *entry, uint32_t seen, uint32_t ref)
{
	struct block_record *record = copied_record(work, ref), now;

	if (!record || !racing_record(entry, seen, shared(work, record), work->cut->epoch, &now))
		return false;
	*record = now;
	return true;
}

// Leaves of a leaf's copy what was there at the cut and still is; the log has what has gone since. Downsampling may
// just have put another record of the same block there. Another address's block that has taken a wide entry since is
// left to the log and the pendings.
static void settle_leaf(const struct table_leaf *leaf, void *context)
{
	struct work *work = context;
	const uint32_t *entries = shared(work, leaf->entries);
	uint32_t *kept = writable(work, leaf->entries);

	if (++work->leaves == LEAVES_STEP) {
		work->leaves = 0;
		table_copy_forget_shared(work->copy, HS_OFFSET_PAGES, work->copy->size);
	}
	for (uint32_t i = 0; i < HS_LEAF_ENTRIES; i++) {
		struct live_block block = leaf_block(leaf->is_wide, leaf->address, i, kept[i]), now;

		if (!kept[i] || settle_record(work, &entries[i], kept[i], block.ref))
			continue;
		kept[i] = racing_u32(&entries[i]);
		now = leaf_block(leaf->is_wide, leaf->address, i, kept[i]);
		if (kept[i] && (now.address != block.address || !settle_record(work, &entries[i], kept[i], now.ref)))
			kept[i] = 0;
	}
}

static bool settle_sample(struct work *work, const uint64_t *entry, uint64_t seen)
{
	struct block_record *record = copied_record(work, sample_entry_ref(seen)), now;

	if (!record || !racing_sample(entry, seen, shared(work, record), work->cut->epoch, &now))
		return false;
	*record = now;
	return true;
}

// The same for a bucket of the sample table. Another address's block that has taken an entry since is left to the log
// and the pendings: a failed reallocation may have put it there that was copied in another entry. One such may have
// been seen in two.
static void settle_bucket(const uint64_t *bucket, uint32_t number, void *context)
{
	struct work *work = context;
	const uint64_t *entries = shared(work, bucket);
	uint64_t *kept = writable(work, bucket);

	(void)number;
	for (uint32_t i = 0; i < HS_SAMPLE_BUCKET_ENTRIES; i++) {
		uint64_t tag = sample_entry_tag(kept[i]);

		if (!kept[i] || settle_sample(work, &entries[i], kept[i]))
			continue;
		kept[i] = racing_u64(&entries[i]);
		if (sample_entry_tag(kept[i]) != tag || !kept[i] || !settle_sample(work, &entries[i], kept[i]))
			kept[i] = 0;
	}
	for (uint32_t i = 0; i < HS_SAMPLE_BUCKET_ENTRIES; i++)
		if (kept[i] && table_sample_is_repeated(kept, i))
			kept[i] = 0;
}

static bool is_beside(const struct work *work, uint32_t ref)
{
	for (uint32_t i = 0; i < work->beside_count; i++)
		if (work->beside[i].ref == ref)
			return true;
	return false;
}

// False when there are more than threads that can be in the middle of a reallocation.
static bool put_aside(struct work *work, const struct log_entry *block)
{
	if (is_beside(work, block->ref))
		return true;
	if (work->beside_count == work->beside_room)
		return false;
	work->beside[work->beside_count++] = *block;
	return true;
}

// Puts a block into the copy, in either table. One whose leaf was made too late for it was not there at the cut, as far
// as anybody knows.
//
// A reallocation that moves a block gives the old address back before it is over: another thread may have had a block
// there before the cut. That is so for at most one block of each thread, the one that it was reallocating at the cut.
// Where the address has an entry in the live table, that is free, whoever had it: so in the copy's bucket there is room
// for all samples that were in the bucket at the cut, and have no such entry. One more may have been about to be put
// there by each thread.
//
// A wide entry may be that of a block around this one, or within it; then the narrow one is free, whoever was in which:
// they have the same leaf. Where the address had not been given back, what a narrow entry shows there is a block whose
// release was not seen, which the wide one hides as before. So those blocks come first, while the narrow entries are
// still as they were copied.
static void include(struct work *work, const struct log_entry *block, bool was_given_back)
{
	const struct block_record *place = table_record(&work->view, block->ref);
	const uint32_t *narrow = table_narrow_entry(&work->view, block->address);
	bool can_be_wide = live_is_wide(block->address, block->record.size) && block->ref >> HS_WIDE_REF_BITS == 0;
	const uint32_t *wide = can_be_wide ? table_wide_entry(&work->view, block->address) : NULL;
	bool can_be_sample = block->record.interval > 1 && block->ref >> HS_SAMPLE_REF_BITS == 0;
	const uint64_t *sample = can_be_sample ? table_sample_room(&work->view, block->address) : NULL;
	uint32_t shown = table_find_block(&work->view, block->address);
	bool has_wide = wide && !*wide;

	if (!place || (block->record.interval <= 1 && !narrow && !wide))
		return;
	*(struct block_record *)writable(work, place) = block->record;
	if (shown == block->ref)
		return;
	if (shown && (was_given_back || !has_wide) && (put_aside(work, block) || !has_wide))
		return;
	if (has_wide)
		*(uint32_t *)writable(work, wide) = wide_entry(block->address, block->ref);
	else if (narrow && !*narrow)
		*(uint32_t *)writable(work, narrow) = block->ref;
	else if (sample)
		*(uint64_t *)writable(work, sample) = sample_entry(sample_tag(sample_key(block->address)), block->ref);
	else
		(void)put_aside(work, block);
}

// Notes the reallocation that a thread is in the middle of, as the log will when it ends.
static void note_pending(struct work *work, struct shared_slot *slot)
{
	const struct shared_slot *racing = shared(work, slot);
	struct racing_pending pending, again;
	const struct block_record *record, *new_record;
	struct block_record seen;

	slot->pending = 0;
	slot->pending_new = 0;
	racing_pending_read(racing, &pending);
	record = pending.ref ? copied_record(work, pending.ref) : NULL;
	if (!record || !racing_record(&racing->pending, pending.ref, shared(work, record), work->cut->epoch, &seen))
		return;
	new_record = pending.new_ref ? copied_record(work, pending.new_ref) : NULL;
	// One from after the cut is in no snapshot, though its record may be one that the log has.
	if (!new_record || !epoch_is_older(racing_u32(&((const struct block_record *)shared(work, new_record))->epoch),
					   work->cut->epoch))
		pending.new_ref = 0;
	racing_pending_read(racing, &again);
	if (again.count != pending.count || again.ref != pending.ref)
		return;
	work->pending[work->pending_count++] = (struct log_entry){ .address = pending.address,
								   .ref = pending.ref,
								   .record = seen,
								   .new_address = pending.new_address,
								   .new_ref = pending.new_ref,
								   .epoch = work->cut->epoch,
								   .generation = work->cut->generation };
}

// Copies those slots in pages that did not exist yet when the slots were copied.
static struct hs_error *copy_new_extra_slots(struct work *work)
{
	struct region_header *header = writable(work, table_header(&work->view));
	uint32_t *pages = (uint32_t *)(work->copy->bytes + HS_OFFSET_EXTRA_SLOTS),
		 count = racing_u32(&work->cut->header->extra_slot_count);
	struct hs_error *error = NULL;

	if (count > HS_THREAD_EXTRA_SLOTS)
		count = HS_THREAD_EXTRA_SLOTS;
	for (uint32_t i = 0; i < count && !error; i++) {
		if (table_slot(&work->view, HS_THREAD_SLOTS + i))
			continue;
		pages[i] = racing_u32(shared(work, &pages[i])); // 0 = its thread has not begun
		if (thread_slot_fits(&region_layout_own.stable, header->first_page, header->max_pages, pages[i]))
			error = table_copy_slot(work->cut->access, (uint64_t)pages[i] * HS_PAGE_SIZE, work->copy);
	}
	if (header->extra_slot_count < count)
		header->extra_slot_count = count;
	return error;
}

// Threads that have come since the slots were copied have taken part in what the copied tables show, too.
static struct hs_error *settle_slots(struct work *work)
{
	struct region_header *header = writable(work, table_header(&work->view));
	struct hs_error *error = NULL;

	for (uint32_t i = 0; i < HS_THREAD_SLOTS && !error; i++) {
		uint64_t used = racing_u64(&work->cut->header->used_slots[i / 64]), bit = UINT64_C(1) << (i % 64);

		if (used & bit && !(header->used_slots[i / 64] & bit))
			error = table_copy_slot(work->cut->access, HS_OFFSET_SLOTS + i * HS_SLOT_STRIDE, work->copy);
		header->used_slots[i / 64] |= used & bit;
	}
	if (!error)
		error = copy_new_extra_slots(work);
	for (uint32_t i = 0; i < HS_THREAD_SLOTS_ALL && !error; i++) {
		const struct shared_slot *slot = table_slot(&work->view, i);

		if (!slot)
			continue;
		work->beside_room++;
		note_pending(work, writable(work, slot));
	}
	return error;
}

// Totals do not move while the dump copies, but for a thread that had decided to move some just before. Then another
// stack is in the entry now (or none), and what was there is in the node.
static void settle_totals(struct work *work, struct shared_slot *slot)
{
	const struct shared_slot *racing = shared(work, slot);

	for (uint32_t i = 0; i < HS_TOTALS_ENTRIES; i++) {
		struct totals_entry *entry = &slot->totals[i], now;
		const struct stack_node *node;

		racing_copy(&now, &racing->totals[i], sizeof(now));
		if (now.stack == entry->stack && now.objects >= entry->objects)
			continue;
		node = entry->stack ? table_node(&work->view, entry->stack) : NULL;
		if (node) {
			struct stack_node *kept = writable(work, node);

			kept->alloc_objects =
				racing_u64(&((const struct stack_node *)shared(work, node))->alloc_objects);
			kept->alloc_bytes = racing_u64(&((const struct stack_node *)shared(work, node))->alloc_bytes);
		}
		*entry = now;
		// What was temporary is in the old stack's nodes now, or will be: these are not seen twice.
		racing_copy(&slot->temporaries[i], &racing->temporaries[i], sizeof(slot->temporaries[i]));
	}
}

static void settle_all_totals(struct work *work)
{
	for (uint32_t i = 0; i < HS_THREAD_SLOTS_ALL; i++) {
		const struct shared_slot *slot = table_slot(&work->view, i);

		if (slot)
			settle_totals(work, writable(work, slot));
	}
}

// Whether a copied entry was written for this dump. One that is not complete belongs to a thread that has not yet taken
// its block out of where it was, so that was copied.
static bool is_ours(const struct work *work, const struct log_entry *entry)
{
	return entry->generation == work->cut->generation && entry->epoch == work->cut->epoch && entry->ref &&
	       epoch_is_older(entry->record.epoch, work->cut->epoch);
}

static bool is_shown(struct work *work, uint64_t address, uint32_t ref)
{
	return ref && (table_find_block(&work->view, address) == ref || is_beside(work, ref));
}

// As blocks that are being reallocated, which they were: each in the slot of some thread.
static void put_beside(struct work *work)
{
	for (uint32_t i = 0; i < HS_THREAD_SLOTS_ALL && work->beside_count > 0; i++) {
		const struct shared_slot *copied = table_slot(&work->view, i);
		struct shared_slot *slot = copied ? writable(work, copied) : NULL;

		if (!slot)
			continue;
		work->beside_count--;
		slot->pending = work->beside[work->beside_count].ref;
		slot->pending_address = work->beside[work->beside_count].address;
	}
}

static bool is_logged(const struct work *work, const struct log_entry *entries, uint32_t count, uint32_t ref)
{
	for (uint32_t i = 0; i < count; i++)
		if (entries[i].ref == ref && is_ours(work, &entries[i]))
			return true;
	return false;
}

// Puts the reallocations that are under way behind the log's entries: none of them is over, or the log would have it.
// Returns how many entries there are now.
static uint32_t append_pending(struct work *work, struct log_entry *entries, uint32_t count)
{
	uint32_t end = count;

	for (uint32_t i = 0; i < work->pending_count; i++) {
		const struct log_entry *pending = &work->pending[i];

		if (is_logged(work, entries, count, pending->ref))
			continue;
		work->report->pending += !is_shown(work, pending->address, pending->ref) &&
					 !is_shown(work, pending->new_address, pending->new_ref);
		entries[end++] = *pending;
	}
	return end;
}

static void apply_log(struct work *work, struct log_entry *entries, uint32_t count)
{
	uint32_t end;

	for (uint32_t i = 0; i < count; i++) {
		const struct log_entry *entry = &entries[i];

		if (!is_ours(work, entry))
			continue;
		work->report->log_records++;
		if (!entry->new_address)
			include(work, entry, false);
	}
	for (uint32_t i = 0; i < count; i++)
		if (is_ours(work, &entries[i]) && entries[i].new_address && !entries[i].new_ref)
			include(work, &entries[i], true);
	end = append_pending(work, entries, count);
	// A block that took another's place may have been reallocated itself; that stands behind.
	for (uint32_t i = end; i-- > 0;) {
		const struct log_entry *entry = &entries[i];

		if (is_ours(work, entry) && (entry->new_ref || i >= count) &&
		    !is_shown(work, entry->new_address, entry->new_ref))
			include(work, entry, true);
	}
	put_beside(work);
}

static struct hs_error *add_log(struct work *work)
{
	uint32_t count = running_cut_logged(work->cut);
	size_t size = (count + work->pending_count) * sizeof(struct log_entry);
	struct log_entry *entries;
	struct hs_error *error = table_copy_take_room(work->copy, size);

	if (error || !size)
		return error;
	entries = malloc(size);
	if (!entries)
		return &hs_error_no_memory;
	racing_copy(entries, work->cut->bytes + HS_OFFSET_LOG, count * sizeof(struct log_entry));
	apply_log(work, entries, count);
	free(entries);
	return NULL;
}

static struct hs_error *copy(struct work *work)
{
	struct running_cut *cut = work->cut;
	struct hs_error *error = fault_point("copy the running table");

	if (!error)
		error = table_copy_take(cut->access, cut->bytes, work->copy);
	if (error)
		return error;
	table_copy_view(work->copy, &work->view);
	work->pending = malloc(2 * HS_THREAD_SLOTS_ALL * sizeof(*work->pending));
	if (!work->pending) {
		table_copy_deinit(work->copy);
		return &hs_error_no_memory;
	}
	work->beside = work->pending + HS_THREAD_SLOTS_ALL;
	table_visit_leaves(&work->view, settle_leaf, work);
	table_visit_sample_buckets(&work->view, settle_bucket, work);
	error = settle_slots(work);
	if (!error)
		error = fault_point("read the log");
	if (!error)
		error = add_log(work);
	if (!error)
		settle_all_totals(work);
	if (error)
		table_copy_deinit(work->copy);
	free(work->pending);
	return error;
}

struct hs_error *running_copy_take(struct running_cut *cut, struct table_copy *ret, struct running_report *report,
				   enum running_obstacle *obstacle)
{
	struct work work = { .cut = cut, .copy = ret, .report = report };
	struct hs_error *error;

	*ret = (struct table_copy){ 0 };
	*report = (struct running_report){ 0 };
	error = running_cut_begin(cut, obstacle);
	if (error || *obstacle != OBSTACLE_none)
		return error;
	report->wall_ns = cut->wall_ns;
	report->monotonic_ns = cut->monotonic_ns;
	error = copy(&work);
	running_cut_end(cut, obstacle);
	if (error || *obstacle == OBSTACLE_none)
		return error;
	table_copy_deinit(ret);
	return NULL;
}
