// SPDX-License-Identifier: Apache-2.0
// The only door to a copied region. The target may have written anything into it; whoever reads it does so through
// these functions, which check every reference and bound every loop. Pure.
#ifndef HEAPSNAP_SNAPSHOT_COPY_TABLE_CHECK_H
#define HEAPSNAP_SNAPSHOT_COPY_TABLE_CHECK_H

#include "attach/region/table_walk.h"
#include "inject/abi/region.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A copy whose header has passed region_check_header for `size`.
struct table_view {
	const struct region_layout *layout;
	const struct region_header *header; // in the present form
	const uint8_t *bytes;               // as table_copy has them
	uint64_t size;
	struct table_pages pages; // that are handed out
	uint64_t damaged;         // references that led nowhere: counted, never followed
	bool grew; // the copy was made while threads ran: what leads to pages beyond these is newer than the cut,
		   // and not counted
};

// All that is given stays the caller's. A present region begins with its header: then `header` is `bytes`.
void table_view_init(const struct region_layout *layout, const struct region_header *header, const void *bytes,
		     uint64_t size, struct table_view *ret);

const struct region_header *table_header(const struct table_view *view);
// NULL, and counted, when the ref does not lie in the pages that are handed out.
const struct block_record *table_record(struct table_view *view, uint32_t ref);
const struct stack_node *table_node(struct table_view *view, uint32_t ref);
// NULL when the index is out of range.
const struct module_record *table_module(const struct table_view *view, uint32_t index);
const struct hook_record *table_hook(const struct table_view *view, uint32_t index);
// Of a thread that was seen; 0 = unknown.
uint32_t table_thread_id(const struct table_view *view, uint32_t index);
// The text of a module's path; *size_ret bytes, not terminated. Empty when it does not lie in the pool.
const char *table_module_path(const struct table_view *view, const struct module_record *module, size_t *size_ret);

// Calls `visit` for every live block of both tables (not the pending ones). A narrow entry whose address a wide one
// names as well is that of a block whose release was not seen, before the other one came there; it is passed over.
void table_visit_blocks(struct table_view *view,
			void (*visit)(uint64_t address, uint32_t ref, const struct block_record *, void *),
			void *context);
// Calls `visit` for every leaf of the live table.
void table_visit_leaves(struct table_view *view, void (*visit)(const struct table_leaf *, void *), void *context);
// Calls `visit` for every bucket of the sample table that is not empty.
void table_visit_sample_buckets(struct table_view *view,
				void (*visit)(const uint64_t *entries, uint32_t bucket, void *), void *context);
// Whether an entry before this one in its bucket names the same address. pre: entries[index] is not empty
bool table_sample_is_repeated(const uint64_t *entries, uint32_t index);
// The live table's entry for an address, NULL when its tables are not there.
const uint32_t *table_narrow_entry(struct table_view *view, uint64_t address);
// The entry of an address's piece. NULL also when the address can have none.
const uint32_t *table_wide_entry(struct table_view *view, uint64_t address);
// An empty entry of the sample table for an address, NULL = its bucket is full.
const uint64_t *table_sample_room(const struct table_view *view, uint64_t address);
// The record that the tables hold for an address; 0 = none.
uint32_t table_find_block(struct table_view *view, uint64_t address);
// The block that the thread of a slot is reallocating, where the tables hold neither it nor its successor; NULL = none.
const struct block_record *table_pending_record(struct table_view *view, const struct shared_slot *slot);
// Calls `visit` for every node that the hash buckets lead to, once for each bucket that does (an honest table: one);
// chains that loop are cut and counted.
void table_visit_nodes(struct table_view *view, void (*visit)(uint32_t ref, const struct stack_node *, void *),
		       void *context);
// A thread's slot, NULL when it is not in use. Does not touch the memory of those that were never taken, which lie far
// apart. pre: index < HS_THREAD_SLOTS_ALL
const struct shared_slot *table_slot(const struct table_view *view, uint32_t index);
// The first ref of the pages that are handed out: that of the node which stands for all stacks without room.
static inline uint32_t table_first_ref(const struct table_view *view)
{
	return (uint32_t)(view->pages.first * HS_PAGE_SIZE >> HS_REF_SHIFT);
}
// Whether a slot beyond those with a place of their own may begin at that page of a copy of `size` bytes.
bool table_extra_slot_fits(const struct region_layout *layout, uint64_t size, uint32_t page);
// Calls `visit` for every thread slot in use.
void table_visit_slots(const struct table_view *view, void (*visit)(const struct shared_slot *, void *), void *context);

#endif
