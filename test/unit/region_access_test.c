// SPDX-License-Identifier: Apache-2.0
// The check of a region's header, field by field, and of what may be taken for our own code.
#include "check.h"
#include "made_region.h"

#include "attach/region_access.h"

static bool refused(const struct region_header *header, uint64_t size, enum hs_error_code code)
{
	struct hs_error *error = region_check_header(header, size);
	bool ret = error && error->code == code;

	if (error && error->code != code)
		fprintf(stderr, "code %d: %s\n", error->code, error->message);
	hs_error_destroy(error);
	return ret;
}

#define BAD(field, value)                                                                          \
	do {                                                                                       \
		header = *region.header;                                                           \
		header.field = (value);                                                            \
		CHECK(refused(&header, region.size, HS_ERROR_BAD_DATA));                           \
	} while (0)

#define GOOD(field, value)                                                                         \
	do {                                                                                       \
		header = *region.header;                                                           \
		header.field = (value);                                                            \
		CHECK(region_check_header(&header, region.size) == NULL);                          \
	} while (0)

#define BAD_PART(part)                                                                             \
	do {                                                                                       \
		BAD(part.offset, 0);                                                               \
		BAD(part.offset, region.header->part.offset + 1);                                  \
		BAD(part.offset, UINT64_MAX);                                                      \
		BAD(part.size, 0);                                                                 \
		BAD(part.size, region.header->part.size + 1);                                      \
		BAD(part.size, UINT64_MAX - region.header->part.offset + 1);                       \
	} while (0)

static void test_header(void)
{
	struct made_region region;
	struct region_header header;

	made_region_init(&region, 16);
	CHECK(region_check_header(region.header, region.size) == NULL);

	BAD(magic, 0);
	BAD(magic, HS_REGION_MAGIC + 1);
	header = *region.header;
	header.abi_version = HS_ABI_VERSION + 1;
	CHECK(refused(&header, region.size, HS_ERROR_REFUSED)); // nothing is wrong with it
	BAD(size, region.size - HS_PAGE_SIZE);
	BAD(size, region.size + HS_PAGE_SIZE);
	CHECK(refused(region.header, region.size - HS_PAGE_SIZE, HS_ERROR_BAD_DATA));
	BAD_PART(hooks);
	BAD_PART(modules);
	BAD_PART(strings);
	BAD_PART(threads);
	BAD_PART(slots);
	BAD_PART(rules);
	BAD_PART(buckets);
	BAD_PART(root);
	BAD_PART(pages);
	BAD(state, 0);
	BAD(state, REGION_DETACHING + 1);
	GOOD(state, REGION_ATTACHING);
	GOOD(state, REGION_DETACHING);
	GOOD(hook_count, HS_HOOKS_MAX);
	BAD(hook_count, HS_HOOKS_MAX + 1);
	BAD(hook_count, UINT32_MAX);
	GOOD(island_count, 16);
	BAD(island_count, 17);
	GOOD(module_count, HS_MODULES_MAX);
	BAD(module_count, HS_MODULES_MAX + 1);
	GOOD(string_bytes, HS_STRINGS_SIZE);
	BAD(string_bytes, HS_STRINGS_SIZE + 1);
	GOOD(thread_count, HS_THREAD_HISTORY_MAX + 1); // raised for a moment by threads that find the history full
	BAD(thread_count, UINT32_MAX);
	BAD(first_page, 0);
	BAD(first_page, region.header->first_page + 1);
	GOOD(max_pages, region.header->first_page);
	BAD(max_pages, region.header->first_page - 1);
	BAD(max_pages, region.size / HS_PAGE_SIZE + 1);
	BAD(max_pages, UINT64_MAX);
	GOOD(depth, 1);
	GOOD(depth, HS_DEPTH_MAX);
	BAD(depth, 0);
	BAD(depth, HS_DEPTH_MAX + 1);
	GOOD(next_page, UINT64_MAX); // the payload's own, which runs past the end

	// A region without one page, and sizes that are too small for the parts.
	header = *region.header;
	header.size = HS_OFFSET_PAGES - HS_PAGE_SIZE;
	header.pages.size = 0;
	CHECK(refused(&header, header.size, HS_ERROR_BAD_DATA));
	header.size = 0;
	CHECK(refused(&header, 0, HS_ERROR_BAD_DATA));
	made_region_deinit(&region);
}

static void test_code(void)
{
	static const char text[] =
		"100000000000-100000008000 r-xp 00000000 00:05 7 /memfd:heapsnap-code (deleted)\n"
		"100000008000-100000009000 rw-p 00000000 00:00 0 \n"
		"100000200000-100040200000 rw-s 00000000 00:05 8 /memfd:heapsnap-region (deleted)\n"
		"555555555000-555555558000 r-xp 00001000 08:01 11 /bin/program\n"
		"7ffff0000000-7ffff0001000 r-xp 00000000 00:00 0 \n"
		"7ffff0010000-7ffff0011000 rwxp 00000000 00:00 0 \n"
		"7ffff0020000-7ffff0021000 rwxp 00000000 00:05 7 /memfd:heapsnap-code (deleted)\n";
	struct proc_maps maps;

	CHECK(proc_maps_parse(text, strlen(text), &maps) == NULL);
	CHECK(region_find(&maps) == &maps.items[2]);
	CHECK(region_is_code(&maps, 0x100000000000, 0x8000));
	CHECK(region_is_code(&maps, 0x100000000000, 0x1000));
	CHECK(!region_is_code(&maps, 0x100000000000, 0x8001));
	CHECK(!region_is_code(&maps, 0x100000000000, UINT64_MAX));
	CHECK(!region_is_code(&maps, 0x100000001000, 0x1000)); // not its beginning
	CHECK(!region_is_code(&maps, 0x100000008000, 0x1000)); // no code
	CHECK(!region_is_code(&maps, 0x100000200000, 0x1000));
	CHECK(!region_is_code(&maps, 0x555555555000, 0x1000)); // the program's own
	CHECK(region_is_code(&maps, 0x7ffff0000000, 0x1000));  // anonymous, where executable memfds are forbidden
	CHECK(!region_is_code(&maps, 0x7ffff0010000, 0x1000)); // ours is never writable
	CHECK(!region_is_code(&maps, 0x7ffff0020000, 0x1000));
	CHECK(!region_is_code(&maps, 0x1000, 0x1000));
	maps.count = 2;
	CHECK(!region_find(&maps));
	proc_maps_deinit(&maps);
}

int main(void)
{
	test_header();
	test_code();
	return CHECK_RESULT();
}
