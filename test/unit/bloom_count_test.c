// SPDX-License-Identifier: Apache-2.0
// The Bloom filter counted from a live table: honest ones, and those that lead nowhere.
#include "check.h"
#include "made_region.h"

#include "attach/region/bloom_count.h"

#include <sys/mman.h>
#include <unistd.h>

#define HEAP UINT64_C(0x555555560000)

// The made region in a memory file, as the tool meets it.
struct opened {
	struct made_region made;
	struct region_access access;
};

static void begin(struct opened *opened, uint64_t pages)
{
	made_region_init(&opened->made, pages);
	opened->access = (struct region_access){ .layout = &region_layout_own,
						 .size = opened->made.size,
						 .fd = memfd_create("region", MFD_CLOEXEC),
						 .memory.fd = -1 };
	CHECK(opened->access.fd >= 0 && ftruncate(opened->access.fd, (off_t)opened->made.size) == 0);
}

static void store(struct opened *opened)
{
	CHECK(pwrite(opened->access.fd, opened->made.bytes, opened->made.size, 0) == (ssize_t)opened->made.size);
}

static void load(struct opened *opened)
{
	CHECK(pread(opened->access.fd, opened->made.bytes, opened->made.size, 0) == (ssize_t)opened->made.size);
}

static void end(struct opened *opened)
{
	close(opened->access.fd);
	made_region_deinit(&opened->made);
}

static struct bloom_count count(struct opened *opened, const struct pending_record *pending, size_t pending_count)
{
	struct bloom_count ret;

	store(opened);
	CHECK(bloom_count_records(&opened->access, opened->made.header, pending, pending_count, &ret) == NULL);
	return ret;
}

static uint64_t sum(const struct bloom_count *filter)
{
	uint64_t ret = 0;

	for (size_t i = 0; i < HS_BLOOM_SIZE; i++)
		ret += filter->counters[i];
	return ret;
}

static const struct block_record *record_at(struct opened *opened, uint32_t ref)
{
	return made_ref(&opened->made, ref);
}

static void test_empty(void)
{
	struct opened opened;
	struct bloom_count filter;

	begin(&opened, 16);
	filter = count(&opened, NULL, 0);
	CHECK(filter.records == 0 && sum(&filter) == 0 && !filter.is_too_much);
	CHECK(bloom_mark_records(&opened.access, &filter) == NULL);
	bloom_count_deinit(&filter);
	end(&opened);
}

// Blocks on even and odd addresses, small and large, in several tables, and one whose reallocation is under way: each
// counted where the payload looks for it, each marked, nothing else changed.
static void test_blocks(void)
{
	enum { BLOCKS = 700 };
	static uint32_t refs[BLOCKS];
	struct opened opened;
	struct bloom_count filter;
	struct pending_record pending = { .address = HEAP + 0x123450 };
	uint32_t alone, twice[2];

	begin(&opened, 400);
	for (uint32_t i = 0; i < BLOCKS; i++)
		refs[i] = made_block(&opened.made, HEAP + i * UINT64_C(0x98) + (i % 5 == 0 ? UINT64_C(1) << 40 : 0), i,
				     7);
	// Two of one address, of which the first one's release was not seen: each is taken off the filter when it goes.
	*made_narrow_entry(&opened.made, HEAP + 0x100000) = twice[0] = made_record(&opened.made, 60, 7);
	twice[1] = made_block(&opened.made, HEAP + 0x100000, 60, 7);
	pending.ref = made_record(&opened.made, 5, 7);
	alone = made_record(&opened.made, 6, 7); // in no entry
	filter = count(&opened, &pending, 1);
	CHECK_EQUAL(filter.records, BLOCKS + 3);
	CHECK_EQUAL(sum(&filter), BLOCKS + 3);
	CHECK(filter.counters[bloom_index(HEAP + 0x100000)] >= 2);
	for (uint32_t i = 0; i < BLOCKS; i++)
		CHECK(filter.counters[bloom_index(HEAP + i * UINT64_C(0x98) + (i % 5 == 0 ? UINT64_C(1) << 40 : 0))] >
		      0);
	CHECK(filter.counters[bloom_index(pending.address)] > 0);
	load(&opened);
	CHECK_EQUAL(record_at(&opened, refs[0])->in_bloom, 0); // counting changes nothing
	CHECK(bloom_mark_records(&opened.access, &filter) == NULL);
	load(&opened);
	for (uint32_t i = 0; i < BLOCKS; i++) {
		const struct block_record *record = record_at(&opened, refs[i]);

		CHECK(record->in_bloom && record->size == i && record->stack == 7 && record->interval == 1 &&
		      record->samples == 0);
	}
	CHECK(record_at(&opened, twice[0])->in_bloom && record_at(&opened, twice[1])->in_bloom);
	CHECK_EQUAL(record_at(&opened, pending.ref)->in_bloom, 1);
	CHECK_EQUAL(record_at(&opened, alone)->in_bloom, 0);
	bloom_count_deinit(&filter);
	end(&opened);
}

static void test_samples(void)
{
	enum { SAMPLES = 100 };
	static uint32_t refs[SAMPLES];
	struct opened opened;
	struct bloom_count filter;
	uint64_t *entries;

	begin(&opened, 100);
	made_block(&opened.made, HEAP, 1, 7);
	for (uint32_t i = 0; i < SAMPLES; i++)
		refs[i] = made_sample(&opened.made, HEAP + (i + 1) * UINT64_C(0x98018), i, 512, 7);
	// One without a record, and one whose record is outside the pages.
	entries = (uint64_t *)(opened.made.bytes + HS_OFFSET_SAMPLES);
	for (uint32_t i = 0, broken = 0; broken < 2; i++)
		if (!entries[i])
			entries[i] = sample_entry(1000, broken++ ? UINT32_MAX >> 1 : 0);
	filter = count(&opened, NULL, 0);
	CHECK_EQUAL(filter.records, SAMPLES + 1);
	CHECK_EQUAL(sum(&filter), SAMPLES + 1);
	for (uint32_t i = 0; i < SAMPLES; i++)
		CHECK(filter.counters[bloom_index(HEAP + (i + 1) * UINT64_C(0x98018))] > 0);
	CHECK(bloom_mark_records(&opened.access, &filter) == NULL);
	load(&opened);
	for (uint32_t i = 0; i < SAMPLES; i++)
		CHECK(record_at(&opened, refs[i])->in_bloom && record_at(&opened, refs[i])->size == i);
	bloom_count_deinit(&filter);
	end(&opened);
}

static void test_saturation(void)
{
	struct opened opened;
	struct bloom_count filter;
	uint64_t found = 0;

	begin(&opened, 16000);
	for (uint64_t address = HEAP; found < 300; address += 16)
		if (bloom_index(address) == 17) {
			made_block(&opened.made, address, 1, 7);
			found++;
		}
	filter = count(&opened, NULL, 0);
	CHECK_EQUAL(filter.records, 300);
	CHECK_EQUAL(filter.counters[17], HS_BLOOM_SATURATED);
	CHECK_EQUAL(sum(&filter), HS_BLOOM_SATURATED);
	bloom_count_deinit(&filter);
	end(&opened);
}

static void test_too_many(void)
{
	struct opened opened;
	struct bloom_count filter;
	uint32_t ref;

	begin(&opened, 1000);
	ref = made_record(&opened.made, 1, 7);
	for (uint64_t i = 0; i <= BLOOM_RECORDS_MAX; i++) // an honest table has a record in one place only
		*made_narrow_entry(&opened.made, HEAP + i * 16) = ref;
	filter = count(&opened, NULL, 0);
	CHECK(filter.is_too_much);
	bloom_count_deinit(&filter);
	*made_narrow_entry(&opened.made, HEAP) = 0;
	filter = count(&opened, NULL, 0);
	CHECK(!filter.is_too_much && filter.records == BLOOM_RECORDS_MAX);
	bloom_count_deinit(&filter);
	end(&opened);
}

// What leads outside of the pages that are handed out is passed over; tables that name each other end.
static void test_hostile(void)
{
	static const uint32_t refs[] = { 1, 100, UINT32_MAX, UINT32_MAX - 1 };
	struct opened opened;
	struct bloom_count filter;
	struct pending_record pending[3] = { { HEAP, UINT32_MAX }, { UINT64_MAX, 0 }, { 3, 1 } };
	uint32_t *root, page;

	begin(&opened, 200);
	for (size_t i = 0; i < sizeof(refs) / sizeof(refs[0]); i++) {
		*made_narrow_entry(&opened.made, HEAP + i * 16) = refs[i];
		*made_wide_entry(&opened.made, HEAP + i * 64) = refs[i];
	}
	*made_narrow_entry(&opened.made, HEAP + 0x1000) = (uint32_t)(opened.made.size >> HS_REF_SHIFT);
	root = made_root(&opened.made);
	root[0] = 1;
	root[1] = UINT32_MAX;
	root[2] = (uint32_t)(opened.made.header->max_pages - HS_MIDDLE_PAGES + 1); // its end is outside
	filter = count(&opened, pending, 3);
	CHECK_EQUAL(filter.records, 0);
	bloom_count_deinit(&filter);

	// Every entry of the root is one table, all of whose entries are one page.
	page = made_pages(&opened.made, HS_MIDDLE_PAGES);
	for (uint32_t i = 0; i < HS_MIDDLE_ENTRIES; i++)
		made_table(&opened.made, page)[i] = page;
	for (uint32_t i = 0; i < HS_ROOT_ENTRIES; i++)
		root[i] = page;
	filter = count(&opened, NULL, 0);
	CHECK(filter.records <= (opened.made.header->next_page - opened.made.header->first_page) * HS_LEAF_ENTRIES);
	CHECK(bloom_mark_records(&opened.access, &filter) == NULL);
	bloom_count_deinit(&filter);
	opened.made.header->next_page = 0; // before the first
	filter = count(&opened, NULL, 0);
	CHECK_EQUAL(filter.records, 0);
	bloom_count_deinit(&filter);
	end(&opened);
}

int main(void)
{
	test_empty();
	test_blocks();
	test_samples();
	test_saturation();
	test_too_many();
	test_hostile();
	return CHECK_RESULT();
}
