// SPDX-License-Identifier: Apache-2.0
// The region's first content, and the range of the main thread's stack.
#include "check.h"
#include "held_process.h"
#include "made_region.h"

#include "attach/region/region_access.h"

#define MIB (UINT64_C(1) << 20)

static void stack_of(const char *text, uint64_t limit, uint64_t *low_ret, uint64_t *high_ret)
{
	struct proc_maps maps;

	CHECK(proc_maps_parse(text, strlen(text), &maps) == NULL);
	region_main_stack(&maps, limit, low_ret, high_ret);
	proc_maps_deinit(&maps);
}

static void test_main_stack(void)
{
	static const char usual[] = "555555554000-555555555000 r--p 00000000 08:01 11 /bin/program\n"
				    "7ffff7fc1000-7ffff7fc3000 r-xp 00000000 00:00 0 [vdso]\n"
				    "7ffffffde000-7ffffffff000 rw-p 00000000 00:00 0 [stack]\n"
				    "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n";
	static const char near[] = "7fffffa00000-7fffffb00000 rw-p 00000000 00:00 0 \n"
				   "7ffffffde000-7ffffffff000 rw-p 00000000 00:00 0 [stack]\n";
	static const char large[] = "7fffe0000000-7ffffffff000 rw-p 00000000 00:00 0 [stack]\n";
	static const char tiny[] = "00010000-00031000 rw-p 00000000 00:00 0 [stack]\n";
	static const char none[] = "7fffe0000000-7ffffffff000 rw-p 00000000 00:00 0 /tmp/[stack]\n";
	const uint64_t end = 0x7ffffffff000;
	uint64_t low, high;

	stack_of(usual, 16 * MIB, &low, &high);
	CHECK_EQUAL(low, end - 16 * MIB);
	CHECK_EQUAL(high, end);
	stack_of(usual, 4096, &low, &high); // at least 8 MiB: the limit may be lowered while it runs
	CHECK_EQUAL(low, end - 8 * MIB);
	stack_of(usual, UINT64_MAX, &low, &high);
	CHECK_EQUAL(low, end - 128 * MIB);
	stack_of(near, 16 * MIB, &low, &high); // not over a neighbour
	CHECK_EQUAL(low, 0x7fffffb00000);
	CHECK_EQUAL(high, end);
	stack_of(large, 8 * MIB, &low, &high); // has grown further already
	CHECK_EQUAL(low, 0x7fffe0000000);
	stack_of(tiny, 8 * MIB, &low, &high); // nothing lies below 0
	CHECK_EQUAL(low, 0);
	CHECK_EQUAL(high, 0x31000);
	stack_of(none, 8 * MIB, &low, &high);
	CHECK_EQUAL(low, 0);
	CHECK_EQUAL(high, 0);
}

// Longer than 60 lines: one region, and each of its fields.
static void test_fill(void)
{
	enum { MODULES = 3, PAIRS = 600 }; // 600 pairs take two pages
	static struct search_pair pairs[PAIRS];
	char long_path[5000];
	struct module modules[MODULES] = {
		{ .path = (char[]){ "/bin/program" },
		  .is_main = true,
		  .load_bias = 0x555555554000,
		  .start = 0x555555554000,
		  .end = 0x555555559000,
		  .text_low = 0x555555555000,
		  .text_high = 0x555555556000,
		  .link_map = 0x7ffff7ffe2e0 },
		{ .path = (char[]){ "[vdso]" }, .is_vdso = true, .load_bias = 0x7ffff7fc1000 },
		{ .path = long_path,
		  .load_bias = 0x7ffff7c00000,
		  .link_map = 0x7ffff7fbb000,
		  .elf = { .build_id = { 0xde, 0xad }, .build_id_size = 2 },
		  .readable_low = 0x7ffff7c01000,
		  .readable_high = 0x7ffff7c05000,
		  .search = { .low = 0x7ffff7d00000, .high = 0x7ffff7d10000, .pairs = pairs, .count = PAIRS } },
	};
	const struct target_info target = { .pid = 4321 };
	const struct module_list list = { .items = modules, .count = MODULES };
	struct planned_hook loader_event = { .record = { .kind = HOOK_loader_event, .verdict = VERDICT_ok } };
	const struct hook_plan hooks = { .hooks = &loader_event,
					 .count = 1,
					 .areas = { { 0x555555560000, 3, 1 }, { 0x7ffff7d80000, 40, 2 } },
					 .area_count = 2 };
	const struct frozen_process process = { .process = held_process(4321) };
	struct made_region region;
	struct payload_layout layout = {
		.code = 0x100000000000, .code_size = 0x8000, .state = 0x100000008000, .region = 0x100000200000
	};
	struct region_filling filling = {
		.target = &target, .modules = &list, .layout = &layout, .hooks = &hooks, .frozen = &process, .depth = 17
	};
	const struct region_header *header;
	const struct module_record *record;
	const struct stack_node *full;
	struct table_view view;
	size_t size;

	for (int i = 0; i < PAIRS; i++)
		pairs[i] = (struct search_pair){ -i, 16 * i };
	memset(long_path, 'p', sizeof(long_path) - 1);
	long_path[sizeof(long_path) - 1] = 0;
	made_region_init(&region, 16);
	memset(region.bytes, 0, HS_OFFSET_MODULES);
	memset(region.bytes + HS_OFFSET_PAGES, 0, HS_PAGE_SIZE);
	layout.region_size = region.size;
	region_fill(region.header, &filling);
	header = region.header;
	CHECK(region_check_header(header, region.size) == NULL);
	CHECK_EQUAL(header->stable.state, REGION_ATTACHING);
	CHECK_EQUAL(header->stable.region_address, layout.region);
	CHECK_EQUAL(header->stable.code_address, layout.code);
	CHECK_EQUAL(header->stable.code_size, layout.code_size);
	CHECK_EQUAL(header->stable.state_address, layout.state);
	CHECK_EQUAL(header->pid, 4321);
	CHECK_EQUAL(header->depth, 17);
	CHECK_EQUAL(header->epoch, 1);
	CHECK_EQUAL(header->stable.island_count, 2);
	CHECK_EQUAL(header->stable.islands[1].offset, 0x7ffff7d80000);
	CHECK_EQUAL(header->stable.islands[1].size, 2 * HS_PAGE_SIZE);
	CHECK_EQUAL(header->max_pages, region.size / HS_PAGE_SIZE);
	CHECK_EQUAL(header->next_page, header->first_page + 3);
	CHECK_EQUAL(header->module_count, MODULES);
	CHECK(header->stable.attach_wall_ns && header->attach_monotonic_ns);

	view = made_view(&region);
	record = table_module(&view, 0);
	CHECK(record && record->load_bias == 0x555555554000 && record->text_high == 0x555555556000);
	CHECK_EQUAL(record->flags, MODULE_MAIN | MODULE_IN_LINK_MAP);
	CHECK(strncmp(table_module_path(&view, record, &size), "/bin/program", 12) == 0);
	CHECK_EQUAL(size, 12);
	record = table_module(&view, 1);
	CHECK_EQUAL(record->flags, MODULE_VDSO);
	record = table_module(&view, 2);
	CHECK_EQUAL(record->flags, MODULE_IN_LINK_MAP | MODULE_CAN_UNLOAD);
	CHECK(record->readable_low == 0x7ffff7c01000 && record->readable_high == 0x7ffff7c05000);
	CHECK_EQUAL(record->search_page, header->first_page + 1);
	CHECK_EQUAL(record->search_count, PAIRS);
	CHECK_EQUAL(record->cfi_low, 0x7ffff7d00000);
	CHECK_EQUAL(record->cfi_high, 0x7ffff7d10000);
	CHECK(memcmp(region.bytes + record->search_page * (size_t)HS_PAGE_SIZE, pairs, sizeof(pairs)) == 0);
	CHECK_EQUAL(record->build_id_size, 2);
	CHECK_EQUAL(record->build_id[1], 0xad);
	CHECK(memcmp(table_module_path(&view, record, &size), long_path, 4999) == 0);
	CHECK_EQUAL(size, 4999);
	CHECK_EQUAL(header->string_bytes, 12 + 6 + 4999);

	// Nobody would tell that it goes: nothing of it is read later.
	memset(region.bytes, 0, HS_OFFSET_MODULES);
	loader_event.record.verdict = VERDICT_too_short;
	region_fill(region.header, &filling);
	record = table_module(&view, 2);
	CHECK_EQUAL(record->flags, MODULE_IN_LINK_MAP | MODULE_CAN_UNLOAD);
	CHECK_EQUAL(record->cfi_high, 0);
	CHECK_EQUAL(record->search_page, 0);
	loader_event.record.verdict = VERDICT_ok;
	modules[2].link_map = 0;
	memset(region.bytes, 0, HS_OFFSET_MODULES);
	region_fill(region.header, &filling);
	record = table_module(&view, 2);
	CHECK_EQUAL(record->flags, MODULE_CAN_UNLOAD);
	CHECK_EQUAL(record->cfi_high, 0);
	CHECK_EQUAL(record->readable_high, 0);
	modules[2].link_map = 0x7ffff7fbb000;

	// It would take more than a quarter of what is there.
	memset(region.bytes, 0, HS_OFFSET_MODULES);
	layout.region_size = HS_OFFSET_PAGES + 8 * HS_PAGE_SIZE;
	region_fill(region.header, &filling);
	record = table_module(&view, 2);
	CHECK_EQUAL(record->search_page, 0);
	CHECK_EQUAL(record->search_count, 0);
	CHECK_EQUAL(header->next_page, header->first_page + 1);

	full = table_node(&view, (uint32_t)(HS_OFFSET_PAGES >> HS_REF_SHIFT));
	CHECK_EQUAL(full->frame >> HS_FRAME_MODULE_SHIFT, HS_FRAME_CUT);
	CHECK_EQUAL(full->frame & HS_FRAME_PC_MASK, CUT_stack_table_full);
	CHECK_EQUAL(full->parent, 0);
	made_region_deinit(&region);
}

// More modules, and longer names, than there is room for.
static void test_too_many(void)
{
	enum { COUNT = HS_MODULES_MAX + 5 };
	static char long_path[5000];
	struct module *modules = calloc(COUNT, sizeof(*modules));
	const struct target_info target = { .pid = 1 };
	const struct module_list list = { .items = modules, .count = COUNT };
	const struct hook_plan hooks = { 0 };
	const struct frozen_process process = { .process = held_process(1) };
	struct made_region region;
	struct payload_layout layout = { .code_size = 0x8000 };
	struct region_filling filling = {
		.target = &target, .modules = &list, .layout = &layout, .hooks = &hooks, .frozen = &process, .depth = 1
	};
	struct table_view view;
	size_t size;

	memset(long_path, 'p', sizeof(long_path) - 1);
	for (size_t i = 0; i < COUNT; i++)
		modules[i].path = long_path;
	made_region_init(&region, 1);
	memset(region.bytes, 0, HS_HEADER_SIZE);
	layout.region_size = region.size;
	region_fill(region.header, &filling);
	CHECK(region_check_header(region.header, region.size) == NULL);
	CHECK_EQUAL(region.header->module_count, HS_MODULES_MAX);
	CHECK_EQUAL(region.header->string_bytes, HS_STRINGS_SIZE);
	view = made_view(&region);
	table_module_path(&view, table_module(&view, HS_STRINGS_SIZE / 4999), &size);
	CHECK_EQUAL(size, HS_STRINGS_SIZE % 4999); // cut
	table_module_path(&view, table_module(&view, HS_MODULES_MAX - 1), &size);
	CHECK_EQUAL(size, 0);
	CHECK_EQUAL(*(const uint8_t *)(region.bytes + HS_OFFSET_THREADS), 0); // not one byte too far
	made_region_deinit(&region);
	free(modules);
}

int main(void)
{
	test_main_stack();
	test_fill();
	test_too_many();
	return CHECK_RESULT();
}
