// SPDX-License-Identifier: Apache-2.0
// Copying real memory of a region, as large and as empty as one that a target has: what was written arrives, holes stay
// holes.
#include "check.h"
#include "held_process.h"
#include "made_region.h"

#include "attach/region/region_access.h"
#include "snapshot/copy/table_copy.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define REGION_SIZE (UINT64_C(64) << 30)

struct memory_file {
	int fd;
	struct made_region region; // the file, mapped shared
};

static bool create(struct memory_file *file, uint64_t size)
{
	void *place;

	*file = (struct memory_file){ .fd = memfd_create("table_copy_test", MFD_CLOEXEC) };
	if (file->fd < 0 || ftruncate(file->fd, (off_t)size) != 0)
		return false;
	place = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file->fd, 0);
	if (place == MAP_FAILED)
		return false;
	file->region.bytes = place;
	file->region.size = size;
	file->region.header = place;
	made_region_begin(place, size);
	return true;
}

static void destroy(struct memory_file *file)
{
	munmap(file->region.bytes, file->region.size);
	close(file->fd);
}

static int64_t blocks(const struct memory_file *file)
{
	struct stat status;

	return fstat(file->fd, &status) == 0 ? (int64_t)status.st_blocks : -1;
}

static struct region_access access_of(const struct memory_file *file)
{
	return (struct region_access){ .layout = &region_layout_own,
				       .process = held_process(getpid()),
				       .size = file->region.size,
				       .fd = file->fd,
				       .memory.fd = -1 };
}

static void count_block(uint64_t address, uint32_t ref, const struct block_record *record, void *context)
{
	uint64_t *sum = context;

	(void)ref;
	*sum += address + record->size;
}

static struct shared_slot *slot_of(const uint8_t *bytes, uint32_t index)
{
	return (struct shared_slot *)(uintptr_t)(bytes + HS_OFFSET_SLOTS + (uint64_t)index * HS_SLOT_STRIDE);
}

static void test_copy(void)
{
	static const uint64_t addresses[] = { 0x1000, 0x1008, 0x555555556eb8, 0x7ffff7fc1230 };
	struct memory_file file;
	struct region_access access;
	struct table_copy copy;
	struct table_view view;
	uint64_t wanted = 0, sum = 0;
	int64_t blocks_before;
	uint32_t far;

	CHECK(create(&file, REGION_SIZE));
	for (size_t i = 0; i < 4; i++) {
		made_block(&file.region, addresses[i], i + 1, made_node(&file.region, 3, i, 0));
		wanted += addresses[i] + i + 1;
	}
	made_slot(&file.region, 5)->counters[0] = 55;
	*(uint64_t *)(made_slot(&file.region, 5) + 1) = 1; // the payload's own
	made_slot(&file.region, HS_THREAD_SLOTS - 1)->counters[0] = 56;
	slot_of(file.region.bytes, 6)->counters[0] = 57; // not marked as taken
	made_pages(&file.region, 10 << 20);              // handed out and never touched, but for the last
	far = (uint32_t)file.region.header->next_page - 1;
	made_table(&file.region, far)[1023] = 0x1234;
	memset(file.region.bytes + HS_OFFSET_RULES, 0xee, HS_PAGE_SIZE);
	made_table(&file.region, far + 1)[0] = 0x5678; // not handed out
	blocks_before = blocks(&file);
	access = access_of(&file);
	CHECK(table_copy_take(&access, NULL, &copy) == NULL);
	CHECK_EQUAL(blocks(&file), blocks_before);
	CHECK_EQUAL(copy.size, REGION_SIZE);
	CHECK(copy.copied < (UINT64_C(1) << 20) && copy.copied > 10 * HS_PAGE_SIZE);

	table_view_init(&region_layout_own, copy.header, copy.bytes, copy.size, &view);
	table_visit_blocks(&view, count_block, &sum);
	CHECK_EQUAL(sum, wanted);
	CHECK_EQUAL(view.damaged, 0);
	CHECK_EQUAL(*(const uint32_t *)(copy.bytes + far * UINT64_C(4096) + 4092), 0x1234);
	CHECK_EQUAL(*(const uint32_t *)(copy.bytes + (far + 1) * UINT64_C(4096)), 0);
	CHECK_EQUAL(slot_of(copy.bytes, 5)->counters[0], 55);
	CHECK_EQUAL(*(const uint64_t *)(slot_of(copy.bytes, 5) + 1), 0);
	CHECK_EQUAL(slot_of(copy.bytes, HS_THREAD_SLOTS - 1)->counters[0], 56);
	CHECK_EQUAL(slot_of(copy.bytes, 6)->counters[0], 0);
	CHECK_EQUAL(copy.bytes[HS_OFFSET_RULES], 0); // the rule cache is not copied
	CHECK(memcmp(copy.bytes, file.region.bytes, HS_HEADER_SIZE) == 0);
	file.region.header->stable.hook_count = 1; // a copy of its own
	CHECK_EQUAL(table_header(&view)->stable.hook_count, 0);
	table_copy_deinit(&copy);
	CHECK(!copy.bytes);
	destroy(&file);
}

// Full to the last page, and with a counter that has run past it.
static void test_full(void)
{
	struct memory_file file;
	struct region_access access;
	struct table_copy copy;

	CHECK(create(&file, HS_OFFSET_PAGES + 20 * HS_PAGE_SIZE));
	for (uint32_t page = 0; page < 20; page++)
		made_table(&file.region, (uint32_t)file.region.header->first_page + page)[0] = page;
	file.region.header->next_page = UINT64_MAX;
	access = access_of(&file);
	CHECK(table_copy_take(&access, NULL, &copy) == NULL);
	CHECK_EQUAL(*(const uint32_t *)(copy.bytes + file.region.size - HS_PAGE_SIZE), 19);
	table_copy_deinit(&copy);
	destroy(&file);
}

// Without the right to open the region's memory, through the memory of the process: here our own.
static void test_through_memory(void)
{
	struct memory_file file;
	struct region_access access;
	struct table_copy copy;

	CHECK(create(&file, HS_OFFSET_PAGES + 40 * HS_PAGE_SIZE));
	made_block(&file.region, 0x1000, 1, 0);
	access = access_of(&file);
	access.fd = -1;
	access.address = (uint64_t)file.region.bytes;
	CHECK(target_memory_open(held_process(getpid()), &access.memory) == NULL);
	CHECK(table_copy_take(&access, NULL, &copy) == NULL);
	CHECK(memcmp(copy.bytes + HS_OFFSET_ROOT, file.region.bytes + HS_OFFSET_ROOT,
		     file.region.header->next_page * HS_PAGE_SIZE - HS_OFFSET_ROOT) == 0);
	table_copy_deinit(&copy);
	target_memory_close(&access.memory);
	destroy(&file);
}

static void test_refused(void)
{
	struct memory_file file;
	struct region_access access;
	struct table_copy copy;
	struct hs_error *error;

	CHECK(create(&file, HS_OFFSET_PAGES + HS_PAGE_SIZE));
	access = access_of(&file);
	file.region.header->module_count = UINT32_MAX; // changed since the region was opened
	error = table_copy_take(&access, NULL, &copy);
	CHECK(error && error->code == HS_ERROR_BAD_DATA);
	CHECK(!copy.bytes);
	hs_error_destroy(error);
	file.region.header->module_count = 0;
	// Shrunk under the tool (only without the seals that ours has).
	CHECK(ftruncate(file.fd, HS_OFFSET_PAGES / 2) == 0);
	error = table_copy_take(&access, NULL, &copy);
	hs_error_destroy(error); // whatever was left was copied, or it is an error
	if (!error)
		table_copy_deinit(&copy);
	destroy(&file);
}

// A target that makes its region larger than memory, and says that all of it is used, read without the right to open
// the file: nothing of that is read, because reading would fill it.
static void test_too_large(void)
{
	struct memory_file file;
	struct region_access access;
	struct table_copy copy;
	struct hs_error *error;
	int64_t blocks_before;

	if (!create(&file, UINT64_C(4) << 40)) {
		CHECK_LEFT_OUT("no address space for 4 TiB, which a sanitizer has taken");
		close(file.fd);
		return;
	}
	file.region.header->next_page = file.region.header->max_pages;
	blocks_before = blocks(&file);
	access = access_of(&file);
	access.fd = -1;
	access.address = (uint64_t)file.region.bytes;
	CHECK(!target_memory_open(held_process(getpid()), &access.memory));
	error = table_copy_take(&access, NULL, &copy);
	CHECK(error && error->code == HS_ERROR_REFUSED && strstr(error->message, "memory"));
	CHECK(!copy.bytes);
	// Header, buckets and root are read whole.
	CHECK((blocks(&file) - blocks_before) * 512 <= (int64_t)(HS_HEADER_SIZE + HS_OFFSET_PAGES - HS_OFFSET_BUCKETS));
	hs_error_destroy(error);
	target_memory_close(&access.memory);
	destroy(&file);
}

int main(void)
{
	test_too_large();
	test_copy();
	test_full();
	test_through_memory();
	test_refused();
	return CHECK_RESULT();
}
