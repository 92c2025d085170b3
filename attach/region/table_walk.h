// SPDX-License-Identifier: Apache-2.0
// The one walk over the tables of live blocks (inject/abi/live_table.h, sample_table.h), wherever their bytes are: in a
// copy, or still in the target's region. The target may have written anything into them: every page number is checked,
// every loop is bounded. Pure but for where the bytes come from.
#ifndef HEAPSNAP_ATTACH_REGION_TABLE_WALK_H
#define HEAPSNAP_ATTACH_REGION_TABLE_WALK_H

#include "attach/region/region_layout.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The pages [first, end) of a region are handed out. Invariant: first <= end
struct table_pages {
	uint64_t first, end;
};

// Of a region of `size` bytes. The header passed the region's check, but for next_page: what it says is taken for no
// more than fits, and false is returned where it says less than nothing.
bool table_pages_init(const struct region_header *header, uint64_t size, struct table_pages *ret);
static inline uint64_t table_pages_count(const struct table_pages *pages) { return pages->end - pages->first; }
// Whether all `count` pages from `page` on are handed out.
static inline bool table_pages_hold(const struct table_pages *pages, uint64_t page, uint64_t count)
{
	return page >= pages->first && page < pages->end && count <= pages->end - page;
}

enum table_level {
	TABLE_LEVEL_root,
	TABLE_LEVEL_middle,
	TABLE_LEVEL_leaf,
	TABLE_LEVEL_samples,
};

// Where a walk finds its bytes.
struct table_walk {
	const struct region_layout *layout; // of the region
	struct table_pages pages;
	// `size` bytes that begin at `offset` of the region; they stand until the next call for the same level. NULL
	// ends the walk.
	const void *(*bytes)(void *context, enum table_level level, uint64_t offset, size_t size);
	// Is told of each page that a table names and that is not handed out, or is named too often; such are not
	// followed. NULL = nobody is told.
	void (*astray)(void *context, uint32_t page);
	void *context;
};

// A leaf of the live table. Its entries' blocks: leaf_block.
struct table_leaf {
	const uint32_t *entries; // HS_LEAF_ENTRIES
	uint64_t address;        // that the first one stands for
	bool is_wide;
};

// Calls `visit` for every leaf of the live table; a table that names more tables than there are pages is given up.
void table_walk_leaves(const struct table_walk *walk, void (*visit)(const struct table_leaf *, void *), void *context);
// Calls `visit` for every bucket of the sample table that is not empty: HS_SAMPLE_BUCKET_ENTRIES entries.
void table_walk_samples(const struct table_walk *walk, void (*visit)(const uint64_t *entries, uint32_t bucket, void *),
			void *context);

// The first entry at or behind `index` that is not 0, or that may not be: pages of zeros, of which the large tables
// mostly consist, are passed over. `count` is a multiple of the entries of a page.
uint32_t table_skip_empty_pages(const uint32_t *table, uint32_t index, uint32_t count);

#endif
