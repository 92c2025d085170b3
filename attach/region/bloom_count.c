// SPDX-License-Identifier: Apache-2.0
#include "attach/region/bloom_count.h"

#include "base/cleanup.h"

#include <stdlib.h>
#include <string.h>

enum {
	PAGE_RECORDS = HS_PAGE_SIZE / sizeof(struct block_record),
	RUN_PAGES = 64, // read and written at once
};
_Static_assert(PAGE_RECORDS == 16 * 8, "a bit for each record of a page");

struct counting {
	const struct region_access *region;
	struct bloom_count *count;
	void *bytes[TABLE_LEVEL_samples + 1]; // of each level, what was read of it last; owned
	struct hs_error *error;
};

static void add(struct bloom_count *count, uint64_t address, uint32_t ref)
{
	uint64_t page = ((uint64_t)ref << HS_REF_SHIFT) / HS_PAGE_SIZE;
	uint8_t *counter = &count->counters[bloom_index(address)];
	uint32_t record = ref % PAGE_RECORDS;

	// what leads nowhere is passed over: the next dump's ledger counts it
	if (count->is_too_much || !table_pages_hold(&count->pages, page, 1))
		return;
	if (*counter < HS_BLOOM_SATURATED)
		++*counter;
	count->marks[page - count->pages.first][record / 8] |= (uint8_t)(1u << record % 8);
	count->records++;
	count->is_too_much = count->records > BLOOM_RECORDS_MAX;
}

static void count_leaf(const struct table_leaf *leaf, void *context)
{
	struct bloom_count *count = context;

	for (uint32_t i = 0; i < HS_LEAF_ENTRIES; i++) {
		struct live_block block = leaf_block(leaf->is_wide, leaf->address, i, leaf->entries[i]);

		if (leaf->entries[i])
			add(count, block.address, block.ref);
	}
}

static void count_bucket(const uint64_t *entries, uint32_t bucket, void *context)
{
	for (uint32_t i = 0; i < HS_SAMPLE_BUCKET_ENTRIES; i++)
		if (sample_entry_ref(entries[i]))
			add(context, sample_address(bucket, entries[i]), sample_entry_ref(entries[i]));
}

// Reads from the region. A walk asks for as many bytes of a level each time.
static const void *read_bytes(void *context, enum table_level level, uint64_t offset, size_t size)
{
	struct counting *counting = context;
	void **bytes = &counting->bytes[level];

	if (counting->count->is_too_much)
		return NULL;
	if (!*bytes)
		*bytes = malloc(size);
	counting->error = *bytes ? region_read(counting->region, offset, *bytes, size) : &hs_error_no_memory;
	return counting->error ? NULL : *bytes;
}

static struct hs_error *count_tables(const struct region_access *region, bool has_samples, struct bloom_count *count)
{
	struct counting counting = { .region = region, .count = count };
	const struct table_walk walk = { region->layout, count->pages, read_bytes, NULL, &counting };

	table_walk_leaves(&walk, count_leaf, count);
	if (!counting.error && has_samples)
		table_walk_samples(&walk, count_bucket, count);
	for (size_t i = 0; i < sizeof(counting.bytes) / sizeof(*counting.bytes); i++)
		free(counting.bytes[i]);
	return counting.error;
}

struct hs_error *bloom_count_records(const struct region_access *region, const struct region_header *header,
				     const struct pending_record *pending, size_t pending_count,
				     struct bloom_count *ret)
{
	struct hs_error *error;

	*ret = (struct bloom_count){ 0 };
	table_pages_init(header, region->size, &ret->pages);
	ret->marks = calloc(table_pages_count(&ret->pages) + 1, sizeof(*ret->marks));
	if (!ret->marks)
		return &hs_error_no_memory;
	error = count_tables(region, header->samples_used, ret);
	for (size_t i = 0; i < pending_count && !error; i++)
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
	uint64_t pages = table_pages_count(&count->pages);
	struct hs_error *error = NULL;

	if (!records)
		return &hs_error_no_memory;
	for (uint64_t page = 0; page < pages && !error;) {
		uint64_t offset = (count->pages.first + page) * HS_PAGE_SIZE, run = 0;

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
