// SPDX-License-Identifier: Apache-2.0
// Longer than 500 lines: each case breaks the same table in one place.
// The door to a copied region: what is there is found, and what no honest payload writes leads nowhere.
#include "check.h"
#include "made_region.h"

#include "attach/region/region_access.h"

struct visits {
	uint64_t count;
	uint64_t sum; // of addresses, or of refs
	uint64_t last;
};

static void note_block(uint64_t address, uint32_t ref, const struct block_record *record, void *context)
{
	struct visits *visits = context;

	(void)ref;
	visits->count++;
	visits->sum += address;
	visits->last = record->size;
}

static void note_node(uint32_t ref, const struct stack_node *node, void *context)
{
	struct visits *visits = context;

	visits->count++;
	visits->sum += ref;
	visits->last = node->frame;
}

static void note_slot(const struct shared_slot *slot, void *context)
{
	struct visits *visits = context;

	visits->count++;
	visits->sum += slot->thread_pointer;
}

static struct visits visit_blocks(struct table_view *view)
{
	struct visits visits = { 0 };

	table_visit_blocks(view, note_block, &visits);
	return visits;
}

static struct visits visit_nodes(struct table_view *view)
{
	struct visits visits = { 0 };

	table_visit_nodes(view, note_node, &visits);
	return visits;
}

// Both ends of every level, and odd multiples of 8.
static const uint64_t addresses[] = {
	0x10,       0x18,           0x3ff0,         0x3ff8,         0x4000,         0x1ffffff0,     0x1ffffff8,
	0x20000000, 0x555555556eb8, 0x555555556ec0, 0x7ffff7fc1230, 0x7ffffffffff0, 0x7ffffffffff8,
};
enum { ADDRESSES = sizeof(addresses) / sizeof(addresses[0]) };

static void test_blocks(uint64_t size)
{
	struct made_region region;
	struct table_view view;
	struct visits visits;
	uint32_t refs[ADDRESSES];
	uint64_t sum = 0;

	made_region_init(&region, 600);
	for (size_t i = 0; i < ADDRESSES; i++) {
		refs[i] = made_block(&region, addresses[i], size, 0);
		sum += addresses[i];
	}
	CHECK(region_check_header(region.header, region.size) == NULL);
	view = made_view(&region);
	visits = visit_blocks(&view);
	CHECK_EQUAL(visits.count, ADDRESSES);
	CHECK_EQUAL(visits.sum, sum);
	for (size_t i = 0; i < ADDRESSES; i++)
		CHECK_EQUAL(table_find_block(&view, addresses[i]), refs[i]);
	CHECK_EQUAL(table_find_block(&view, 0x20), 0); // of the piece of one that has a block
	CHECK_EQUAL(table_find_block(&view, 0x4008), 0);
	CHECK_EQUAL(table_find_block(&view, 0x14), 0);
	CHECK_EQUAL(table_find_block(&view, 0x800000000010), 0); // 48 bits: no alias of 0x10
	CHECK_EQUAL(view.damaged, 0);
	made_region_deinit(&region);
}

static void test_refs(void)
{
	struct made_region region;
	struct table_view view;
	uint32_t ref, first = (uint32_t)(HS_OFFSET_PAGES >> HS_REF_SHIFT), end;
	uint32_t bad[5];

	made_region_init(&region, 40);
	ref = made_block(&region, 0x1000, 44, 0);
	end = (uint32_t)region.header->next_page << (12 - HS_REF_SHIFT);
	view = made_view(&region);
	CHECK(table_record(&view, ref) && table_record(&view, ref)->size == 44);
	CHECK(table_node(&view, first) == (const void *)(region.bytes + HS_OFFSET_PAGES));
	CHECK((const uint8_t *)table_record(&view, end - 1) == region.bytes + ((uint64_t)end << HS_REF_SHIFT) - 32);
	CHECK_EQUAL(view.damaged, 0);

	bad[0] = 0, bad[1] = 1, bad[2] = first - 1, bad[3] = end, bad[4] = UINT32_MAX;
	for (size_t i = 0; i < 5; i++) {
		CHECK(!table_record(&view, bad[i]));
		CHECK(!table_node(&view, bad[i]));
		CHECK_EQUAL(view.damaged, 2 * i + 2);
	}
	for (size_t i = 1; i < 5; i++) // as entries of a leaf
		*made_narrow_entry(&region, 0x1000 + 16 * i) = bad[i];
	view = made_view(&region);
	CHECK_EQUAL(visit_blocks(&view).count, 1);
	CHECK_EQUAL(view.damaged, 4);
	made_region_deinit(&region);
}

// The payload's counter may run past the end when the region is full; anything else that it says is a lie.
static void test_next_page(void)
{
	const uint64_t beyond[] = { 41, 1000, UINT64_C(1) << 52, UINT64_MAX };
	struct made_region region;
	struct table_view view;

	made_region_init(&region, 40);
	for (size_t i = 0; i < 4; i++) {
		region.header->next_page = region.header->first_page + beyond[i];
		if (beyond[i] == UINT64_MAX)
			region.header->next_page = UINT64_MAX;
		CHECK(region_check_header(region.header, region.size) == NULL);
		view = made_view(&region);
		CHECK_EQUAL(view.pages.end, region.header->first_page + 40);
		CHECK_EQUAL(view.damaged, 0);
	}
	region.header->max_pages = UINT64_MAX; // no such header passes the check; the view holds all the same
	view = made_view(&region);
	CHECK_EQUAL(view.pages.end, region.header->first_page + 40);
	region.header->max_pages = region.header->first_page + 40;

	region.header->next_page = 3;
	view = made_view(&region);
	CHECK_EQUAL(view.pages.end, region.header->first_page);
	CHECK_EQUAL(view.damaged, 1);
	CHECK(!table_record(&view, (uint32_t)(HS_OFFSET_PAGES >> HS_REF_SHIFT)));
	made_region_deinit(&region);
}

static void test_table_pages(void)
{
	struct made_region region;
	struct table_view view;
	uint32_t first, end;

	made_region_init(&region, 100);
	made_block(&region, 0x1000, 1, 0);
	first = (uint32_t)region.header->first_page;
	end = (uint32_t)region.header->next_page;
	// Middle tables: below the pages, beyond their end, reaching beyond it.
	made_root(&region)[1] = first - 1;
	made_root(&region)[2] = end;
	made_root(&region)[3] = UINT32_MAX;
	made_root(&region)[4] = end - 31;
	made_root(&region)[HS_ROOT_ENTRIES - 1] = 1;
	// Leaf tables.
	made_table(&region, made_root(&region)[0])[5] = first - 1;
	made_table(&region, made_root(&region)[0])[6] = end;
	made_table(&region, made_root(&region)[0])[7] = UINT32_MAX;
	view = made_view(&region);
	CHECK_EQUAL(visit_blocks(&view).count, 1);
	CHECK_EQUAL(view.damaged, 8);
	view = made_view(&region);
	CHECK_EQUAL(table_find_block(&view, UINT64_C(1) << 29), 0);
	CHECK_EQUAL(table_find_block(&view, UINT64_C(4) << 29), 0);
	CHECK_EQUAL(table_find_block(&view, 5 << 14), 0);
	CHECK_EQUAL(view.damaged, 3);
	made_region_deinit(&region);
}

// An honest table names each of its tables once.
static void test_shared_tables(void)
{
	struct made_region region;
	struct table_view view;
	uint32_t middle, leaf;

	// A middle table by every entry of the root: with a leaf, and with none (2^34 entries to look at, all 0).
	made_region_init(&region, 100);
	made_block(&region, 0x1000, 1, 0);
	middle = made_root(&region)[0];
	leaf = made_table(&region, middle)[0];
	for (uint32_t i = 0; i < HS_ROOT_ENTRIES; i++)
		made_root(&region)[i] = middle;
	view = made_view(&region);
	CHECK(visit_blocks(&view).count <= 100);
	CHECK_EQUAL(view.damaged, 1);
	made_table(&region, middle)[0] = 0;
	view = made_view(&region);
	CHECK_EQUAL(visit_blocks(&view).count, 0);
	CHECK_EQUAL(view.damaged, 1);

	// A leaf by every entry of a middle table.
	memset(made_root(&region), 0, HS_ROOT_ENTRIES * sizeof(uint32_t));
	made_root(&region)[0] = middle;
	for (uint32_t i = 0; i < HS_MIDDLE_ENTRIES; i++)
		made_table(&region, middle)[i] = leaf;
	view = made_view(&region);
	CHECK(visit_blocks(&view).count <= 100);
	CHECK_EQUAL(view.damaged, 1);

	// A middle table that is its own leaf.
	for (uint32_t i = 0; i < HS_MIDDLE_ENTRIES; i++)
		made_table(&region, middle)[i] = middle;
	view = made_view(&region);
	CHECK(visit_blocks(&view).count <= 100 * HS_LEAF_ENTRIES);
	CHECK(view.damaged > 0);
	made_region_deinit(&region);
}

// Pieces whose entry is a block's at each position, blocks that share a piece, and one whose release was not seen
// before another one came there.
static void test_wide_blocks(void)
{
	const uint64_t heap = 0x7ffff0000000;
	struct made_region region;
	struct table_view view;
	struct visits visits;
	uint32_t refs[4], shared, chunk, inner, hidden, shown;
	uint64_t sum = 0;

	made_region_init(&region, 200);
	for (uint64_t i = 0; i < 4; i++) {
		refs[i] = made_block(&region, heap + 0x1000 * i + 16 * i, 100, 0);
		sum += heap + 0x1000 * i + 16 * i;
	}
	shared = made_block(&region, heap + 0x3000, 48, 0); // before the last one
	chunk = made_block(&region, heap + 0x8000, 1000, 0);
	inner = made_block(&region, heap + 0x8010, 100, 0);
	hidden = *made_narrow_entry(&region, heap + 0x9020) = made_record(&region, 20, 0);
	shown = made_block(&region, heap + 0x9020, 77, 0);
	CHECK(*made_wide_entry(&region, heap + 0x9020) == (2u << 30 | shown) &&
	      *made_narrow_entry(&region, heap + 0x8010) == inner);
	view = made_view(&region);
	visits = visit_blocks(&view);
	CHECK_EQUAL(visits.count, 8);
	CHECK_EQUAL(visits.sum, sum + heap + 0x3000 + heap + 0x8000 + heap + 0x8010 + heap + 0x9020);
	for (uint64_t i = 0; i < 4; i++) {
		CHECK_EQUAL(table_find_block(&view, heap + 0x1000 * i + 16 * i), refs[i]);
		CHECK_EQUAL(table_find_block(&view, heap + 0x1000 * i + 16 * (i ^ 1)), 0);
	}
	CHECK_EQUAL(table_find_block(&view, heap + 0x3000), shared);
	CHECK_EQUAL(table_find_block(&view, heap + 0x8000), chunk);
	CHECK_EQUAL(table_find_block(&view, heap + 0x8010), inner);
	CHECK_EQUAL(table_find_block(&view, heap + 0x9020), shown);
	*made_wide_entry(&region, heap + 0x9020) = 0;
	CHECK_EQUAL(table_find_block(&view, heap + 0x9020), hidden);
	CHECK_EQUAL(visit_blocks(&view).count, 8);
	CHECK(table_wide_entry(&view, heap + 16) == made_wide_entry(&region, heap) &&
	      !table_wide_entry(&view, heap + 8));
	CHECK(!table_wide_entry(&view, heap + 0x10000) && !table_wide_entry(&view, UINT64_C(1) << 47) &&
	      !table_narrow_entry(&view, heap + 4));
	CHECK_EQUAL(view.damaged, 0);
	made_region_deinit(&region);
}

// Wide entries that no payload writes: without a record, or with one outside the pages.
static void test_broken_wide_blocks(void)
{
	const uint64_t heap = 0x7ffff0000000;
	struct made_region region;
	struct table_view view;
	uint32_t ref;

	made_region_init(&region, 200);
	ref = made_block(&region, heap, 100, 0);
	*made_wide_entry(&region, heap + 0x40) = 3u << 30;
	*made_wide_entry(&region, heap + 0x80) = 1;
	*made_wide_entry(&region, heap + 0xc0) = UINT32_MAX;
	*made_wide_entry(&region, heap + 0x100) = (uint32_t)(region.header->next_page * HS_PAGE_SIZE >> HS_REF_SHIFT);
	view = made_view(&region);
	CHECK_EQUAL(visit_blocks(&view).count, 1);
	CHECK_EQUAL(view.damaged, 4);
	CHECK(table_find_block(&view, heap) == ref && table_find_block(&view, heap + 0x70) == 0);
	// An entry of a record outside the pages hides all the same what lies below it: nothing else is believed of it.
	*made_narrow_entry(&region, heap + 0x80) = ref;
	CHECK_EQUAL(visit_blocks(&view).count, 1);
	// Tables of both parts.
	made_root(&region)[heap >> 29] = made_root(&region)[HS_WIDE_ROOT + (heap >> 31)];
	view = made_view(&region);
	CHECK(visit_blocks(&view).count <= 2 * HS_LEAF_ENTRIES);
	memset(made_wide_entry(&region, heap), 0xff, HS_PAGE_SIZE);
	view = made_view(&region);
	CHECK_EQUAL(visit_blocks(&view).count, 0);
	CHECK(view.damaged > 0);
	made_region_deinit(&region);
}

// Samples, honest ones.
static void test_samples(void)
{
	static const uint64_t samples[] = { 8, 0x1000, 0x7ffff7fc1238, 0x7ffffffffff8 };
	struct made_region region;
	struct table_view view;
	struct visits visits;
	uint32_t refs[4];

	made_region_init(&region, 100);
	made_block(&region, 0x2000, 1, 0);
	for (size_t i = 0; i < 4; i++)
		refs[i] = made_sample(&region, samples[i], 1, 512, 0);
	view = made_view(&region);
	visits = visit_blocks(&view);
	CHECK_EQUAL(visits.count, 5);
	CHECK_EQUAL(visits.sum, 0x2000 + samples[0] + samples[1] + samples[2] + samples[3]);
	for (size_t i = 0; i < 4; i++)
		CHECK_EQUAL(table_find_block(&view, samples[i]), refs[i]);
	CHECK_EQUAL(table_find_block(&view, 0x2008), 0);
	CHECK_EQUAL(table_find_block(&view, samples[1] + 4), 0);
	CHECK_EQUAL(table_find_block(&view, samples[1] + (UINT64_C(1) << 47)), 0);
	CHECK_EQUAL(table_find_block(&view, UINT64_MAX), 0);
	CHECK(table_sample_room(&view, samples[1]) && !table_sample_room(&view, samples[1] + 4) &&
	      !table_sample_room(&view, UINT64_MAX));
	CHECK_EQUAL(view.damaged, 0);
	made_region_deinit(&region);
}

// Entries that no payload writes: without a record, with one outside the pages, of an address that has one already; and
// a table full of such.
static void test_broken_samples(void)
{
	struct made_region region;
	struct table_view view;
	uint64_t *entries;
	uint32_t ref;

	made_region_init(&region, 100);
	ref = made_sample(&region, 0x1000, 1, 512, 0);
	entries = (uint64_t *)(region.bytes + HS_OFFSET_SAMPLES) +
		  sample_bucket(sample_key(0x1000)) * (uint64_t)HS_SAMPLE_BUCKET_ENTRIES;
	CHECK_EQUAL(entries[0], sample_entry(sample_tag(sample_key(0x1000)), ref));
	entries[2] = entries[0]; // twice
	entries[3] = sample_entry(sample_tag(sample_key(0x1000)), made_record(&region, 2, 0));
	entries[4] = sample_entry(77, 0);
	entries[5] = sample_entry(78, 1);
	entries[6] = sample_entry(79, UINT32_MAX >> 1);
	entries[7] = sample_entry(80, (uint32_t)(region.header->next_page * HS_PAGE_SIZE >> HS_REF_SHIFT));
	view = made_view(&region);
	CHECK_EQUAL(visit_blocks(&view).count, 1);
	CHECK_EQUAL(view.damaged, 6);
	CHECK_EQUAL(table_find_block(&view, 0x1000), ref);
	entries[1] = sample_entry(81, ref);
	CHECK(table_sample_room(&view, 0x1000) == &entries[8]);
	for (uint32_t i = 8; i < HS_SAMPLE_BUCKET_ENTRIES; i++)
		entries[i] = sample_entry(100 + i, ref);
	CHECK(!table_sample_room(&view, 0x1000));

	memset(region.bytes + HS_OFFSET_SAMPLES, 0xff, HS_SAMPLE_TABLE_SIZE);
	view = made_view(&region);
	CHECK_EQUAL(visit_blocks(&view).count, 0);
	CHECK_EQUAL(view.damaged, HS_SAMPLE_ENTRIES);
	made_region_deinit(&region);
}

static void test_nodes(void)
{
	struct made_region region;
	struct table_view view;
	struct visits visits;
	uint64_t sum = 0;

	made_region_init(&region, 100);
	for (uint32_t i = 0; i < 1000; i++)
		sum += made_node(&region, i % 7 ? i % 13 : HS_STACK_BUCKETS - 1, made_frame(i, 1), 0);
	view = made_view(&region);
	visits = visit_nodes(&view);
	CHECK_EQUAL(visits.count, 1000);
	CHECK_EQUAL(visits.sum, sum);
	CHECK_EQUAL(view.damaged, 0);

	// A chain that leads out of the pages ends there.
	made_buckets(&region)[20000] = 5;
	made_buckets(&region)[20001] = UINT32_MAX;
	view = made_view(&region);
	CHECK_EQUAL(visit_nodes(&view).count, 1000);
	CHECK_EQUAL(view.damaged, 2);
	made_region_deinit(&region);
}

// Loops of 1 to 40 nodes with 0 to 20 before them: each node once, the other chains whole.
static void test_node_loops(void)
{
	for (uint32_t lead = 0; lead <= 20; lead += 5) {
		for (uint32_t loop = 1; loop <= 40; loop += 3) {
			struct made_region region;
			struct table_view view;
			struct visits visits;
			uint32_t last, entry = 0;
			uint64_t sum;

			made_region_init(&region, 10);
			last = made_node(&region, 9, 1, 0);
			sum = last;
			for (uint32_t i = 1; i < lead + loop; i++) {
				if (i == loop)
					entry = made_buckets(&region)[9];
				sum += made_node(&region, 9, 1, 0);
			}
			if (!entry)
				entry = made_buckets(&region)[9];
			((struct stack_node *)made_ref(&region, last))->next = entry;
			sum += made_node(&region, 10, 1, 0); // a chain behind the loop
			view = made_view(&region);
			visits = visit_nodes(&view);
			CHECK_EQUAL(visits.count, lead + loop + 1);
			CHECK_EQUAL(visits.sum, sum);
			CHECK_EQUAL(view.damaged, 1);
			made_region_deinit(&region);
		}
	}
}

// Every bucket leads to the same long chain.
static void test_shared_chain(void)
{
	struct made_region region;
	struct table_view view;
	struct visits visits;

	made_region_init(&region, 20);
	for (uint32_t i = 0; i < 1000; i++)
		made_node(&region, 0, i, 0);
	for (uint32_t i = 0; i < HS_STACK_BUCKETS; i++)
		made_buckets(&region)[i] = made_buckets(&region)[0];
	view = made_view(&region);
	visits = visit_nodes(&view);
	CHECK(visits.count <= 20 * (HS_PAGE_SIZE / 32));
	CHECK_EQUAL(view.damaged, 1);
	made_region_deinit(&region);
}

static void test_lists(void)
{
	struct made_region region;
	struct table_view view;
	struct visits visits = { 0 };
	struct module_record *module;
	size_t size;

	made_region_init(&region, 1);
	made_module(&region, "/bin/program");
	module = made_module(&region, "/lib/library.so");
	made_module(&region, "/lib/unready.so")->ready = 0;
	made_hook(&region, "malloc");
	made_slot(&region, 0);
	made_slot(&region, 77);
	made_slot(&region, HS_THREAD_SLOTS - 1);
	view = made_view(&region);
	CHECK(table_module(&view, 1) == module);
	CHECK(!table_module(&view, 2));
	CHECK(!table_module(&view, 3));
	CHECK(!table_module(&view, UINT32_MAX));
	CHECK(table_hook(&view, 0) && !table_hook(&view, 1) && !table_hook(&view, UINT32_MAX));
	table_visit_slots(&view, note_slot, &visits);
	CHECK_EQUAL(visits.count, 3);

	// Counts that the check of the header would not let pass do not lead out of the lists either.
	region.header->module_count = region.header->stable.hook_count = UINT32_MAX;
	CHECK(!table_module(&view, HS_MODULES_MAX));
	CHECK(!table_module(&view, HS_MODULES_MAX - 1)); // not ready
	CHECK(table_hook(&view, HS_HOOKS_MAX - 1) && !table_hook(&view, HS_HOOKS_MAX));

	CHECK(memcmp(table_module_path(&view, module, &size), "/lib/library.so", 15) == 0);
	CHECK_EQUAL(size, 15);
	module->path = HS_STRINGS_SIZE - 15;
	table_module_path(&view, module, &size);
	CHECK_EQUAL(size, 15);
	module->path = HS_STRINGS_SIZE - 14;
	table_module_path(&view, module, &size);
	CHECK_EQUAL(size, 0);
	module->path = UINT32_MAX;
	table_module_path(&view, module, &size);
	CHECK_EQUAL(size, 0);
	module->path = 16;
	module->path_size = UINT32_MAX; // the sum wraps
	table_module_path(&view, module, &size);
	CHECK_EQUAL(size, 0);
	made_region_deinit(&region);
}

int main(void)
{
	test_blocks(8);    // in narrow entries
	test_blocks(1000); // in wide ones, but for odd addresses
	test_wide_blocks();
	test_broken_wide_blocks();
	test_refs();
	test_next_page();
	test_table_pages();
	test_shared_tables();
	test_samples();
	test_broken_samples();
	test_nodes();
	test_node_loops();
	test_shared_chain();
	test_lists();
	return CHECK_RESULT();
}
