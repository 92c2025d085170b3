// SPDX-License-Identifier: Apache-2.0
// Where the payload will lie, and the content of its code memfd.
#include "check.h"

#include "attach/arch/thread_pointer_code.h"
#include "attach/hook/payload_image.h"
#include "attach/region/payload_load.h"

#include <stdlib.h>

#define GIB         (UINT64_C(1) << 30)
#define MIDDLE_LOW  UINT64_C(0x100000000000)
#define MIDDLE_HIGH UINT64_C(0x400000000000)

static bool is_free(const struct proc_maps *maps, uint64_t start, uint64_t size)
{
	for (size_t i = 0; i < maps->count; i++)
		if (start < maps->items[i].end && start + size > maps->items[i].start)
			return false;
	return true;
}

static void check_layout(const struct payload_layout *layout, const struct proc_maps *maps, uint64_t region_size)
{
	const struct payload_header *image = (const struct payload_header *)payload_image;

	CHECK_EQUAL(layout->region_size, region_size);
	CHECK_EQUAL(layout->code_size, image->image_size);
	CHECK(layout->code % HS_PAGE_SIZE == 0 && layout->region % HS_PAGE_SIZE == 0);
	CHECK_EQUAL(layout->state, layout->code + layout->code_size);
	CHECK(layout->region > layout->state + HS_PAGE_SIZE); // a gap, where a runaway write faults
	CHECK(layout->code >= MIDDLE_LOW && layout->region + region_size <= MIDDLE_HIGH);
	CHECK(is_free(maps, layout->code, layout->code_size + HS_PAGE_SIZE));
	CHECK(is_free(maps, layout->region, region_size));
	for (unsigned kind = 0; kind < HOOK_KIND_COUNT; kind++)
		CHECK_EQUAL(layout->goals.entries[kind], layout->code + image->entry[kind]);
	CHECK_EQUAL(memcmp(payload_image + (layout->syscall_gadget - layout->code), "\x0f\x05\xc3", 3), 0);
	CHECK_EQUAL(memcmp(payload_image + (layout->sigreturn_gadget - layout->code), "\xb8\x0f\0\0\0\x0f\x05", 7), 0);
}

static void test_layout(void)
{
	static const char text[] = "555555554000-555555555000 r--p 00000000 08:01 11 /bin/program\n"
				   "7ffffffde000-7ffffffff000 rw-p 00000000 00:00 0 [stack]\n";
	static const uint64_t randoms[] = { 0, 1, 12345, UINT64_C(1) << 40, UINT64_MAX };
	struct proc_maps maps;
	struct payload_layout layout, other;

	CHECK(proc_maps_parse(text, strlen(text), &maps) == NULL);
	for (size_t i = 0; i < sizeof(randoms) / sizeof(randoms[0]); i++) {
		CHECK(payload_layout_choose(&maps, 64 * GIB, randoms[i], &layout) == NULL);
		check_layout(&layout, &maps, 64 * GIB);
	}
	CHECK(payload_layout_choose(&maps, GIB, 1, &layout) == NULL);
	CHECK(payload_layout_choose(&maps, GIB, 2, &other) == NULL);
	CHECK(layout.code != other.code);
	proc_maps_deinit(&maps);
}

// The middle is nearly full: one hole, wherever the random start lies; and none.
static void test_full(void)
{
	static const char text[] = "100000000000-180000000000 rw-p 00000000 00:00 0 \n"
				   "181000000000-3ffffffff000 rw-p 00000000 00:00 0 \n";
	struct proc_maps maps;
	struct payload_layout layout;
	struct hs_error *error;

	CHECK(proc_maps_parse(text, strlen(text), &maps) == NULL);
	for (uint64_t random = 0; random < 10000000; random += 999983) {
		CHECK(payload_layout_choose(&maps, 50 * GIB, random, &layout) == NULL);
		check_layout(&layout, &maps, 50 * GIB);
	}
	// The hole is 64 GiB: more than it has, and what it has without room for code and gaps.
	error = payload_layout_choose(&maps, 64 * GIB, 0, &layout);
	CHECK(error && error->code == HS_ERROR_REFUSED);
	hs_error_destroy(error);
	error = payload_layout_choose(&maps, 64 * GIB - (4 << 20), 0, &layout);
	CHECK(error && error->code == HS_ERROR_REFUSED);
	hs_error_destroy(error);
	proc_maps_deinit(&maps);
}

static void test_code(void)
{
	static const size_t slots[] = { 0, 15, 0, 16 }, areas[] = { 0, 0, 1, 1 };
	struct payload_layout layout = { .code_size = (uint64_t)(payload_image_end - payload_image) };
	struct payload_config config = { .region = 0x1122334455667788, .main_stack_high = 0x7ffffffff000 };
	struct planned_hook hooks[5] = { 0 };
	struct hook_plan plan = { .hooks = hooks,
				  .count = 5,
				  .areas = { { 0x555555560000, 16, 1 }, { 0x7ffff7d80000, 17, 2 } },
				  .area_count = 2 };
	const struct payload_header *header;
	uint8_t *bytes, *image;
	size_t size, offset, not_filled = 0;

	for (size_t i = 0; i < 4; i++) {
		hooks[i].island_slot = slots[i];
		hooks[i].island_area = areas[i];
		hooks[i].island.entry = 0x1000 + i;
	}
	hooks[4].record.verdict = VERDICT_too_short; // has no island
	hooks[4].island.entry = 0xbad;
	hooks[4].island_area = 15;
	CHECK(payload_code_build(&layout, &config, &plan, &bytes, &size) == NULL);
	CHECK_EQUAL(size, layout.code_size + 3 * HS_PAGE_SIZE);
	header = (const struct payload_header *)bytes;
	CHECK_EQUAL(header->magic, HS_PAYLOAD_MAGIC);
	CHECK_EQUAL(header->abi_version, HS_ABI_VERSION);
	CHECK(memcmp(&header->config, &config, sizeof(config)) == 0);
	CHECK(memcmp(bytes, payload_image, offsetof(struct payload_header, config)) == 0);
	offset = offsetof(struct payload_header, island_head);
	image = malloc(layout.code_size);
	if (!image)
		exit(1);
	memcpy(image, payload_image, layout.code_size);
	if (thread_pointer_code_is_allowed()) {
		CHECK(thread_pointer_code_replace_in_image(image, layout.code_size));
		CHECK(!thread_pointer_code_replace_in_image(image, layout.code_size)); // that is done
	}
	CHECK(memcmp(bytes + offset, image + offset, layout.code_size - offset) == 0);
	free(image);
	for (size_t i = 0; i < 4; i++) {
		offset = layout.code_size + areas[i] * HS_PAGE_SIZE + slots[i] * sizeof(struct hook_island);
		CHECK_EQUAL(((const struct hook_island *)(bytes + offset))->entry, 0x1000 + i);
		memset(bytes + offset, 0xcc, sizeof(struct hook_island));
	}
	for (offset = layout.code_size; offset < size; offset++)
		not_filled += bytes[offset] != 0xcc;
	CHECK_EQUAL(not_filled, 0);
	free(bytes);
}

int main(void)
{
	test_layout();
	test_full();
	test_code();
	return CHECK_RESULT();
}
