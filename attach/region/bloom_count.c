// SPDX-License-Identifier: Apache-2.0
#include "attach/region/bloom_count.h"

#include "base/cleanup.h"

#include <stdlib.h>
#include <string.h>

enum {
	ROOT_SIZE = HS_ROOT_ENTRIES * sizeof(uint32_t),
	MIDDLE_SIZE = HS_MIDDLE_ENTRIES * sizeof(uint32_t),
	LEAF_SIZE = HS_LEAF_ENTRIES * sizeof(uint32_t),
	PAGE_RECORDS = HS_PAGE_SIZE / sizeof(struct block_record),
	RUN_PAGES = 64, // read and written at once
};
_Static_assert(PAGE_RECORDS == 16 * 8, "a bit for each record of a page");

struct counting {
	const struct region_access *region;
	struct bloom_count *count;
	uint32_t *root, *middle, *leaf;
	uint64_t leaves_left, middles_left; // each page is handed out once: more tables than pages are a lie
};

// What leads nowhere is passed over: the next dump's ledger counts it.
static bool is_table(const struct bloom_count *count, uint32_t page, uint64_t pages)
{
	return page >= count->first_page && page < count->end_page && pages <= count->end_page - page;
}

static void add(struct bloom_count *count, uint64_t address, uint32_t ref)
{
	uint64_t page = ((uint64_t)ref << HS_REF_SHIFT) / HS_PAGE_SIZE;
	uint8_t *counter = &count->counters[bloom_index(address)];
	uint32_t record = ref % PAGE_RECORDS;

	if (!is_table(count, (uint32_t)page, 1))
		return;
	if (*counter < HS_BLOOM_SATURATED)
		++*counter;
	count->marks[page - count->first_page][record / 8] |= (uint8_t)(1u << record % 8);
	count->records++;
	count->is_too_much = count->records > BLOOM_RECORDS_MAX;
}

static struct hs_error *count_leaf(const struct counting *counting, uint32_t page, uint64_t address, bool is_wide)
{
	struct hs_error *error =
		region_read(counting->region, (uint64_t)page * HS_PAGE_SIZE, counting->leaf, LEAF_SIZE);

	for (uint32_t i = 0; i < HS_LEAF_ENTRIES && !error && !counting->count->is_too_much; i++) {
		struct live_block block = leaf_block(is_wide, address, i, counting->leaf[i]);

		if (counting->leaf[i])
			add(counting->count, block.address, block.ref);
	}
	return error;
}

static struct hs_error *count_middle(struct counting *counting, uint32_t page, uint32_t root_index)
{
	struct hs_error *error =
		region_read(counting->region, (uint64_t)page * HS_PAGE_SIZE, counting->middle, MIDDLE_SIZE);

	for (uint32_t i = 0; i < HS_MIDDLE_ENTRIES && !error && !counting->count->is_too_much; i++) {
		if (!is_table(counting->count, counting->middle[i], HS_LEAF_PAGES) || counting->leaves_left == 0)
			continue;
		counting->leaves_left--;
		error = count_leaf(counting, counting->middle[i], leaf_address(root_index, i),
				   leaf_is_wide(root_index));
	}
	return error;
}

static struct hs_error *count_table(struct counting *counting)
{
	struct hs_error *error = region_read(counting->region, HS_OFFSET_ROOT, counting->root, ROOT_SIZE);

	for (uint32_t i = 0; i < HS_ROOT_ENTRIES && !error && !counting->count->is_too_much; i++) {
		if (!is_table(counting->count, counting->root[i], HS_MIDDLE_PAGES) || counting->middles_left == 0)
			continue;
		counting->middles_left--;
		error = count_middle(counting, counting->root[i], i);
	}
	return error;
}

static struct hs_error *count_samples(const struct region_access *region, struct bloom_count *count)
{
	HS_CLEANUP_FREE uint64_t *entries = malloc(HS_SAMPLE_TABLE_SIZE);
	struct hs_error *error =
		entries ? region_read(region, HS_OFFSET_SAMPLES, entries, HS_SAMPLE_TABLE_SIZE) : &hs_error_no_memory;

	for (uint32_t i = 0; i < HS_SAMPLE_ENTRIES && !error && !count->is_too_much; i++)
		if (sample_entry_ref(entries[i]))
			add(count, sample_address(i / HS_SAMPLE_BUCKET_ENTRIES, entries[i]),
			    sample_entry_ref(entries[i]));
	return error;
}

struct hs_error *bloom_count_records(const struct region_access *region, const struct region_header *header,
				     const struct pending_record *pending, size_t pending_count,
				     struct bloom_count *ret)
{
	HS_CLEANUP_FREE uint32_t *tables = malloc(ROOT_SIZE + MIDDLE_SIZE + LEAF_SIZE);
	struct counting counting = { .region = region, .count = ret, .root = tables };
	uint64_t pages;
	struct hs_error *error;

	*ret = (struct bloom_count){ .first_page = header->first_page };
	ret->end_page = header->next_page < header->max_pages ? header->next_page : header->max_pages;
	if (ret->end_page < ret->first_page)
		ret->end_page = ret->first_page;
	pages = ret->end_page - ret->first_page;
	ret->marks = calloc(pages + 1, sizeof(*ret->marks));
	if (!tables || !ret->marks) {
		bloom_count_deinit(ret);
		return &hs_error_no_memory;
	}
	counting.middle = tables + HS_ROOT_ENTRIES;
	counting.leaf = counting.middle + HS_MIDDLE_ENTRIES;
	counting.leaves_left = pages;
	counting.middles_left = pages / HS_MIDDLE_PAGES;
	error = count_table(&counting);
	if (!error && header->samples_used)
		error = count_samples(region, ret);
	for (size_t i = 0; i < pending_count && !error && !ret->is_too_much; i++)
		add(ret, pending[i].address, pending[i].ref);
	if (error)
		bloom_count_deinit(ret);
	return error;
}

void bloom_count_deinit(struct bloom_count *count)
{
	free(count->marks);
	count->marks = NULL;
}

static bool has_marks(const uint8_t marks[16])
{
	static const uint8_t none[16];

	return memcmp(marks, none, sizeof(none)) != 0;
}

static void mark_page(struct block_record *records, const uint8_t marks[16])
{
	for (uint32_t i = 0; i < PAGE_RECORDS; i++)
		if (marks[i / 8] >> i % 8 & 1)
			records[i].in_bloom = 1;
}

struct hs_error *bloom_mark_records(const struct region_access *region, const struct bloom_count *count)
{
	HS_CLEANUP_FREE struct block_record *records = malloc(RUN_PAGES * HS_PAGE_SIZE);
	uint64_t pages = count->end_page - count->first_page;
	struct hs_error *error = NULL;

	if (!records)
		return &hs_error_no_memory;
	for (uint64_t page = 0; page < pages && !error;) {
		uint64_t offset = (count->first_page + page) * HS_PAGE_SIZE, run = 0;

		while (run < RUN_PAGES && page + run < pages && has_marks(count->marks[page + run]))
			run++;
		if (run == 0) {
			page++;
			continue;
		}
		error = region_read(region, offset, records, run * HS_PAGE_SIZE);
		for (uint64_t i = 0; i < run; i++)
			mark_page(records + i * PAGE_RECORDS, count->marks[page + i]);
		if (!error)
			error = region_write(region, offset, records, run * HS_PAGE_SIZE);
		page += run;
	}
	return error;
}
