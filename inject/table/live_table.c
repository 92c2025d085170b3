// SPDX-License-Identifier: Apache-2.0
// Growing the live table. Context: in a hook; the slow way in, once for each 16 KiB of heap, or 64 KiB.
#include "inject/table/live_table.h"

// Publishes a new table in *entry. A table of one page that another thread made superfluous is kept in *spare_page for
// next time.
static uint32_t add_table(uint32_t *entry, uint32_t pages, uint32_t *spare_page)
{
	uint32_t expected = 0;
	uint32_t page;

	if (pages == 1 && *spare_page) {
		page = *spare_page;
		*spare_page = 0;
	} else {
		page = region_take_pages(pages);
		if (!page)
			return 0;
	}
	if (__atomic_compare_exchange_n(entry, &expected, page, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return page;
	if (pages == 1)
		*spare_page = page;
	return expected;
}

// An entry by the indices that lead to it.
static uint32_t *make(uint32_t root_index, uint32_t middle_index, uint32_t leaf_index, uint32_t *spare_page)
{
	uint32_t *root = region_at(HS_OFFSET_ROOT);
	uint32_t *entry = &root[root_index];
	uint32_t page = __atomic_load_n(entry, __ATOMIC_ACQUIRE);
	uint32_t *middle;

	if (!page)
		page = add_table(entry, HS_MIDDLE_PAGES, spare_page);
	if (!page)
		return NULL;
	middle = region_page(page);
	entry = &middle[middle_index];
	page = __atomic_load_n(entry, __ATOMIC_ACQUIRE);
	if (!page)
		page = add_table(entry, HS_LEAF_PAGES, spare_page);
	if (!page)
		return NULL;
	return (uint32_t *)region_page(page) + leaf_index;
}

uint32_t *live_table_make_narrow(uint64_t address, uint32_t *spare_page)
{
	return make(narrow_root_index(address), narrow_middle_index(address), narrow_leaf_index(address), spare_page);
}

uint32_t *live_table_make_wide(uint64_t address, uint32_t *spare_page)
{
	return make(wide_root_index(address), wide_middle_index(address), wide_leaf_index(address), spare_page);
}
