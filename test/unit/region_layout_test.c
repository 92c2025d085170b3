// SPDX-License-Identifier: Apache-2.0
// Regions of each ABI version since 13 are read: regions/VERSION_NAME.gz, as targets had them, with what the target
// itself said of its blocks (regions/make.py).
#include "check.h"
#include "held_process.h"
#include "made_region.h"

#include "attach/region/layout_13.h"
#include "attach/region/layout_14.h"
#include "attach/region/region_access.h"
#include "snapshot/copy/table_copy.h"
#include "snapshot/profile/aggregate.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

enum { SIZES = 64, SITES = 8 };

// What a target said.
struct account {
	char program[64]; // the end of its path
	unsigned threads;
	uint64_t blocks[SIZES]; // that live, by size / 8
	struct {
		uint64_t objects, bytes;
	} sites[SITES];
	size_t site_count;                   // 0 = the rest is unknown too
	uint64_t alloc_objects, alloc_bytes; // since attach
};

static bool read_account(const char *name, struct account *ret)
{
	char path[256], line[128];
	unsigned long long a, b;
	bool whole;
	FILE *file;

	*ret = (struct account){ 0 };
	snprintf(path, sizeof(path), REGIONS "/%s.txt", name);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "threads %u", &ret->threads) == 1 || sscanf(line, "program %63s", ret->program) == 1)
			continue;
		if (sscanf(line, "block %llu %llu", &a, &b) == 2 && a / 8 < SIZES)
			ret->blocks[a / 8] = b;
		else if (sscanf(line, "site %llu %llu", &a, &b) == 2 && ret->site_count < SITES)
			ret->sites[ret->site_count].objects = a, ret->sites[ret->site_count++].bytes = b;
		else if (sscanf(line, "allocated %llu %llu", &a, &b) == 2)
			ret->alloc_objects = a, ret->alloc_bytes = b;
		else
			break;
	}
	if (!file)
		return false;
	whole = feof(file);
	fclose(file);
	return whole && ret->threads > 0 && *ret->program;
}

// The region's memory as it was; -1 = it cannot be had.
static int open_region(const char *name, uint64_t *size_ret)
{
	struct {
		uint64_t offset;
		uint8_t bytes[HS_PAGE_SIZE];
	} page;
	int fd = memfd_create("region_layout_test", MFD_CLOEXEC);
	char path[256];
	bool good;
	gzFile file;

	snprintf(path, sizeof(path), REGIONS "/%s.gz", name);
	file = gzopen(path, "rbe");
	good = file && gzread(file, size_ret, sizeof(*size_ret)) == sizeof(*size_ret) &&
	       ftruncate(fd, (off_t)*size_ret) == 0;
	while (good && gzread(file, &page, sizeof(page)) == sizeof(page))
		good = pwrite(fd, page.bytes, sizeof(page.bytes), (off_t)page.offset) == sizeof(page.bytes);
	if (good && gzeof(file) && gzclose(file) == Z_OK)
		return fd;
	close(fd);
	return -1;
}

struct found {
	struct table_view *view;
	uint64_t blocks[SIZES];
	uint32_t threads[SIZES];
	unsigned thread_count;
};

// The target makes its blocks by malloc and calloc; until version 13 no record says so.
static void check_hook(const struct table_view *view, const struct block_record *record)
{
	const struct hook_record *hook = record->hook ? table_hook(view, record->hook - 1u) : NULL;

	if (view->layout->abi_version > 13)
		CHECK(hook && (strcmp(hook->name, "malloc") == 0 || strcmp(hook->name, "calloc") == 0));
	else
		CHECK_EQUAL(record->hook, 0);
}

static void find_block(uint64_t address, uint32_t ref, const struct block_record *record, void *context)
{
	struct found *found = context;
	unsigned i = 0;

	(void)ref;
	CHECK(address % 16 == 0);
	if (record->size / 8 < SIZES)
		found->blocks[record->size / 8]++;
	check_hook(found->view, record);
	while (i < found->thread_count && found->threads[i] != record->thread)
		i++;
	if (i == found->thread_count && i < SIZES)
		found->threads[found->thread_count++] = record->thread;
}

static void check_blocks(struct table_view *view, const struct account *account)
{
	const uint32_t *tids = (const uint32_t *)(view->bytes + view->layout->threads.offset);
	struct found found = { .view = view };

	table_visit_blocks(view, find_block, &found);
	for (size_t i = 0; i < SIZES; i++)
		if (account->blocks[i])
			CHECK_EQUAL(found.blocks[i], account->blocks[i]);
	CHECK_EQUAL(found.thread_count, account->threads);
	for (unsigned i = 0; i < found.thread_count; i++) {
		CHECK(found.threads[i] < table_header(view)->thread_count && tids[found.threads[i]] > 1);
		for (unsigned j = 0; j < i; j++)
			CHECK(tids[found.threads[i]] != tids[found.threads[j]]);
	}
}

// Whether a frame of the stack lies in the program, whose path is right.
static bool is_of_program(struct table_view *view, uint32_t ref, const struct account *account)
{
	const size_t end = strlen(account->program);
	const struct stack_node *node;

	while ((node = table_node(view, ref))) {
		uint64_t pc = node->frame & HS_FRAME_PC_MASK;
		uint32_t number = (uint32_t)(node->frame >> HS_FRAME_MODULE_SHIFT) & HS_FRAME_MODULE_MASK;
		const struct module_record *module = number ? table_module(view, number - 1) : NULL;
		size_t size = 0;
		const char *path = module ? table_module_path(view, module, &size) : "";

		if (module && module->flags & MODULE_MAIN && pc >= module->start && pc < module->end && size > end &&
		    memcmp(path + size - end, account->program, end) == 0)
			return true;
		ref = node->parent;
	}
	return false;
}

static void check_stacks(struct table_view *view, const struct account *account)
{
	struct aggregate totals;
	double objects = 0, bytes = 0;

	CHECK(aggregate_make(view, &totals) == NULL);
	CHECK_EQUAL(totals.threads, account->threads);
	CHECK(account->site_count ? totals.sampled == 0 : totals.sampled > 0);
	for (size_t i = 0; i < totals.stacks.count; i++) {
		const struct stack_totals *stack = &totals.stacks.items[i];

		CHECK(is_of_program(view, stack->node, account));
		objects += stack->alloc_objects, bytes += stack->alloc_bytes;
	}
	if (account->site_count) {
		CHECK_EQUAL(objects, account->alloc_objects);
		CHECK_EQUAL(bytes, account->alloc_bytes);
		CHECK_EQUAL(totals.counters[COUNTER_allocations], account->alloc_objects);
		CHECK_EQUAL(totals.counters[COUNTER_allocated_bytes], account->alloc_bytes);
	}
	for (size_t site = 0; site < account->site_count; site++) {
		size_t i = 0;

		while (i < totals.stacks.count &&
		       !(totals.stacks.items[i].live.objects == (double)account->sites[site].objects &&
			 totals.stacks.items[i].live.bytes == (double)account->sites[site].bytes))
			i++;
		CHECK(i < totals.stacks.count);
	}
	aggregate_deinit(&totals);
}

static void check_hooks(struct table_view *view)
{
	bool found = false;

	for (uint32_t i = 0; i < table_header(view)->stable.hook_count; i++) {
		const struct hook_record *hook = table_hook(view, i);

		CHECK(hook != NULL);
		found |= hook && strcmp(hook->name, "malloc") == 0 && hook->state == HOOK_APPLIED &&
			 hook->verdict == VERDICT_ok;
	}
	CHECK(found);
}

static void test_kept(const struct region_layout *layout, const char *name)
{
	struct region_access access = { .process = held_process(getpid()), .layout = layout, .memory.fd = -1 };
	struct account account;
	struct table_copy copy;
	struct table_view view;

	CHECK(read_account(name, &account));
	access.fd = open_region(name, &access.size);
	CHECK(access.fd >= 0);
	if (access.fd < 0)
		return;
	CHECK(table_copy_take(&access, NULL, &copy) == NULL);
	if (copy.bytes) {
		table_copy_view(&copy, &view);
		check_blocks(&view, &account);
		check_stacks(&view, &account);
		check_hooks(&view);
		CHECK_EQUAL(view.damaged, 0);
		CHECK_EQUAL(table_header(&view)->always_exact, account.site_count > 0);
		CHECK(table_header(&view)->attach_monotonic_ns > 0);
		table_copy_deinit(&copy);
	}
	close(access.fd);
}

static void test_find(void)
{
	CHECK(region_layout_find(HS_ABI_VERSION) == &region_layout_own);
	for (uint32_t version = HS_ABI_STABLE_SINCE; version <= HS_ABI_VERSION; version++) {
		const struct region_layout *layout = region_layout_find(version);

		CHECK(layout && layout->abi_version == version); // since then none is left out
	}
	CHECK(region_layout_find(HS_ABI_STABLE_SINCE - 1) == NULL);
	CHECK(region_layout_find(HS_ABI_VERSION + 1) == NULL);
}

static void fill(void *place, size_t size)
{
	for (size_t i = 0; i < size; i++)
		((uint8_t *)place)[i] = (uint8_t)(i * 7 + i / 251 + 1);
}

#define SAME(field) CHECK(memcmp(&frozen->field, &own->field, sizeof(own->field)) == 0)

// As long as the version is the present one, its frozen layout is the present layout: nothing is left out of it.
static void test_frozen(const struct region_layout *frozen)
{
	static struct region_header header, header_found;
	static struct shared_slot slot, slot_found;
	const struct region_layout *own = &region_layout_own;

	CHECK_EQUAL(frozen->header_size, own->header_size);
	CHECK_EQUAL(frozen->slot_size, own->slot_size);
	SAME(stable);
	SAME(modules);
	SAME(strings);
	SAME(threads);
	SAME(rules);
	SAME(log);
	SAME(buckets);
	SAME(root);
	SAME(samples);
	SAME(pages);
	fill(&header, sizeof(header));
	region_layout_header(frozen, &header, &header_found);
	CHECK(memcmp(&header.stable, &header_found.stable, sizeof(header.stable)) == 0);
	CHECK_EQUAL(header_found.removals, header.removals);
	CHECK_EQUAL(header_found.pages.size, header.pages.size);
	CHECK_EQUAL(header_found.used_slots[63], header.used_slots[63]);
	fill(&slot, sizeof(slot));
	region_layout_slot(frozen, &slot, &slot_found);
	CHECK_EQUAL(slot_found.pending_count, slot.pending_count);
	CHECK_EQUAL(slot_found.totals[127].bytes, slot.totals[127].bytes);
}

// Every byte that is not padding arrives: 0 there, after a translation, is a field that was forgotten.
static size_t zeros(const void *place, size_t size)
{
	size_t count = 0;

	for (size_t i = 0; i < size; i++)
		count += ((const uint8_t *)place)[i] == 0;
	return count;
}

static void test_whole(const struct region_layout *frozen)
{
	static struct region_header header, header_found;
	static struct shared_slot slot, slot_found;

	memset(&header, 0xff, sizeof(header));
	region_layout_header(frozen, &header, &header_found);
	CHECK_EQUAL(zeros(&header_found, sizeof(header_found)), 16 + 56 + 56 + 12 + 56 + 40 + 56 + 4 + 24);
	memset(&slot, 0xff, sizeof(slot));
	region_layout_slot(frozen, &slot, &slot_found);
	CHECK_EQUAL(zeros(&slot_found, sizeof(slot_found)), 4 + 16); // `reserved`, and what is behind it
}

// Slots with a place of their own and slots in pages are translated, each once.
static void test_slots(const struct region_layout *layout)
{
	uint64_t size = HS_OFFSET_PAGES + 100 * HS_PAGE_SIZE;
	struct region_access access = {
		.process = held_process(getpid()), .layout = layout, .size = size, .memory.fd = -1
	};
	struct made_region region = { .size = size };
	struct table_copy copy;
	struct table_view view;
	uint32_t page;

	access.fd = memfd_create("region_layout_test", MFD_CLOEXEC);
	CHECK(ftruncate(access.fd, (off_t)size) == 0);
	region.bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, access.fd, 0);
	CHECK(region.bytes != MAP_FAILED);
	region.header = (struct region_header *)region.bytes;
	made_region_begin(region.bytes, size);
	made_slot(&region, 9)->counters[COUNTER_frees] = 77;
	made_slot(&region, 9)->stack_high = 0x7fff12345000;
	page = made_pages(&region, HS_THREAD_SLOT_PAGES);
	memcpy(region.bytes + HS_OFFSET_EXTRA_SLOTS,
	       (uint32_t[]){ page, 0, UINT32_MAX, (uint32_t)(size / HS_PAGE_SIZE) - 7, 3 },
	       5 * sizeof(uint32_t)); // all but the first are lies
	region.header->extra_slot_count = 5;
	memcpy(region.bytes + (uint64_t)page * HS_PAGE_SIZE, made_slot(&region, 9), sizeof(struct shared_slot));
	CHECK(table_copy_take(&access, NULL, &copy) == NULL);
	table_copy_view(&copy, &view);
	for (uint32_t i = 1; i < 5; i++)
		CHECK(!table_slot(&view, HS_THREAD_SLOTS + i));
	for (unsigned i = 0; i < 2; i++) {
		const struct shared_slot *slot = table_slot(&view, i ? HS_THREAD_SLOTS : 9);

		CHECK(slot && slot->counters[COUNTER_frees] == 77 && slot->stack_high == 0x7fff12345000);
	}
	table_copy_deinit(&copy);
	munmap(region.bytes, size);
	close(access.fd);
}

// Every layout whose regions are kept. The last one is frozen too where it is the present one.
static const struct {
	const struct region_layout *layout;
	const char *regions[2];
} kept[] = {
	{ &region_layout_13, { "13_exact", "13_sampled" } },
	{ &region_layout_14, { "14_exact", "14_sampled" } },
};

int main(void)
{
	const struct region_layout *newest = kept[sizeof(kept) / sizeof(*kept) - 1].layout;

	test_find();
	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
		for (size_t j = 0; j < sizeof(kept[i].regions) / sizeof(*kept[i].regions); j++)
			test_kept(kept[i].layout, kept[i].regions[j]);
	CHECK(newest->abi_version == HS_ABI_VERSION); // a raised version is frozen at once: docs/abi.md, A new version
	if (newest->abi_version == HS_ABI_VERSION) {
		test_frozen(newest);
		test_whole(newest);
		test_slots(newest);
	}
	return CHECK_RESULT();
}
