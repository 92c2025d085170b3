// SPDX-License-Identifier: Apache-2.0
// The check of a region's header, field by field, and of what may be taken for our own code.
#include "check.h"
#include "held_process.h"
#include "made_region.h"

#include "attach/arch/island_code.h"
#include "attach/process/memory_device.h"
#include "attach/region/code_proof.h"
#include "attach/region/region_access.h"
#include "attach/region/state_pages.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static bool refused(const struct region_header *header, uint64_t size, enum hs_error_code code)
{
	struct hs_error *error = region_check_header(header, size);
	bool ret = error && error->code == code;

	if (error && error->code != code)
		fprintf(stderr, "code %d: %s\n", error->code, error->message);
	hs_error_destroy(error);
	return ret;
}

#define BAD(field, value)                                                                                              \
	do {                                                                                                           \
		header = *region.header;                                                                               \
		header.field = (value);                                                                                \
		CHECK(refused(&header, region.size, HS_ERROR_BAD_DATA));                                               \
	} while (0)

#define GOOD(field, value)                                                                                             \
	do {                                                                                                           \
		header = *region.header;                                                                               \
		header.field = (value);                                                                                \
		CHECK(region_check_header(&header, region.size) == NULL);                                              \
	} while (0)

#define BAD_PART(part)                                                                                                 \
	do {                                                                                                           \
		BAD(part.offset, 0);                                                                                   \
		BAD(part.offset, region.header->part.offset + 1);                                                      \
		BAD(part.offset, UINT64_MAX);                                                                          \
		BAD(part.size, 0);                                                                                     \
		BAD(part.size, region.header->part.size + 1);                                                          \
		BAD(part.size, UINT64_MAX - region.header->part.offset + 1);                                           \
	} while (0)

// Longer than 60 lines: a line a field.
static void test_header(void)
{
	struct made_region region;
	struct region_header header;

	made_region_init(&region, 16);
	CHECK(region_check_header(region.header, region.size) == NULL);

	BAD(stable.magic, 0);
	BAD(stable.magic, HS_REGION_MAGIC + 1);
	header = *region.header;
	header.stable.abi_version = HS_ABI_VERSION + 1;
	CHECK(refused(&header, region.size, HS_ERROR_REFUSED)); // nothing is wrong with it
	BAD(stable.size, region.size - HS_PAGE_SIZE);
	BAD(stable.size, region.size + HS_PAGE_SIZE);
	CHECK(refused(region.header, region.size - HS_PAGE_SIZE, HS_ERROR_BAD_DATA));
	BAD_PART(modules);
	BAD_PART(strings);
	BAD_PART(threads);
	BAD_PART(rules);
	BAD_PART(buckets);
	BAD_PART(root);
	BAD_PART(pages);
	BAD(stable.state, 0);
	BAD(stable.state, REGION_DETACHING + 1);
	GOOD(stable.state, REGION_ATTACHING);
	GOOD(stable.state, REGION_DETACHING);
	GOOD(stable.hook_count, HS_HOOKS_MAX);
	BAD(stable.hook_count, HS_HOOKS_MAX + 1);
	BAD(stable.hook_count, UINT32_MAX);
	BAD(stable.state_size, 0);
	BAD(stable.state_size, HS_STATE_SIZE + 1);
	BAD(stable.state_size, UINT64_C(1) << 32);
	BAD(stable.layout.hooks, HS_OFFSET_HOOKS + 128);
	BAD(stable.layout.slot_stride, HS_SLOT_STRIDE * 2);
	BAD(stable.layout.guard, offsetof(struct shared_slot, guard) + 8);
	GOOD(stable.island_count, 16);
	BAD(stable.island_count, 17);
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
	header.stable.size = HS_OFFSET_PAGES - HS_PAGE_SIZE;
	header.pages.size = 0;
	CHECK(refused(&header, header.stable.size, HS_ERROR_BAD_DATA));
	header.stable.size = 0;
	CHECK(refused(&header, 0, HS_ERROR_BAD_DATA));
	made_region_deinit(&region);
}

#define DIGITS "0123456789abcdef"
#define CODE   "/memfd:heapsnap-code-" DIGITS DIGITS
#define OWN    "%02x:%02x" // the device on which the kernel makes memory files

static void parse(const char *format, struct proc_maps *ret)
{
	const unsigned major = major(memory_file_device()), minor = minor(memory_file_device());
	char text[4096];

	// Two times eight numbers are more than any of the texts names.
	snprintf(text, sizeof(text), format, major, minor, major, minor, major, minor, major, minor, major, minor,
		 major, minor, major, minor, major, minor);
	CHECK(proc_maps_parse(text, strlen(text), ret) == NULL);
}

static const struct code_names own_names = { .nonce = UINT64_C(0x0123456789abcdef) };

// Of a process whose memory cannot be read.
static bool is_code(const struct proc_maps *maps, const struct code_names *names, uint64_t address, uint64_t size)
{
	const struct process nobody = PROCESS_CLOSED;
	const struct target_memory memory = { .process = &nobody, .fd = -1 };
	const struct address_range range = { address, size };
	const struct code_proof proof = { &memory, names, range, true };

	return code_is_ours(&proof, maps, &range);
}

static void test_code(void)
{
	const struct code_names none = { 0 };
	struct proc_maps maps;

	parse("100000000000-100000008000 r-xp 00000000 " OWN " 7 " CODE " (deleted)\n"
	      "100000008000-100000009000 rw-p 00000000 00:00 0 \n"
	      "555555555000-555555558000 r-xp 00001000 08:01 11 /bin/program\n"
	      "600000000000-600000008000 r--p 00000000 " OWN " 7 " CODE " (deleted)\n"
	      "600000010000-600000018000 r-xp 00000000 08:01 7 " CODE " (deleted)\n"
	      "600000020000-600000028000 r-xp 00000000 " OWN " 7 " CODE "\n"
	      "600000030000-600000038000 r-xp 00000000 " OWN " 7 /memfd:heapsnap-code (deleted)\n"
	      "600000040000-600000048000 r-xp 00000000 " OWN " 7 /memfd:heapsnap-code-" DIGITS DIGITS "0 (deleted)\n"
	      "600000050000-600000058000 r-xs 00000000 " OWN " 7 " CODE " (deleted)\n"
	      "7ffff0000000-7ffff0001000 r-xp 00000000 00:00 0 \n"
	      "7ffff0020000-7ffff0021000 rwxp 00000000 " OWN " 7 " CODE " (deleted)\n",
	      &maps);
	CHECK(is_code(&maps, &own_names, 0x100000000000, 0x8000));
	CHECK(is_code(&maps, &own_names, 0x100000000000, 0x1000));
	CHECK(!is_code(&maps, &own_names, 0x100000000000, 0x8001));
	CHECK(!is_code(&maps, &own_names, 0x100000000000, UINT64_MAX));
	CHECK(!is_code(&maps, &own_names, 0x100000001000, 0x1000)); // not its beginning
	CHECK(!is_code(&maps, &own_names, 0x100000008000, 0x1000)); // no code
	CHECK(!is_code(&maps, &own_names, 0x555555555000, 0x1000)); // the program's own
	CHECK(is_code(&maps, &own_names, 0x600000000000, 0x1000));  // a note, where code will be
	CHECK(!is_code(&maps, &own_names, 0x600000010000, 0x1000)); // a file of that name on a disk
	CHECK(!is_code(&maps, &own_names, 0x600000020000, 0x1000)); // that has a place in a directory
	CHECK(!is_code(&maps, &own_names, 0x600000030000, 0x1000)); // other names
	CHECK(!is_code(&maps, &own_names, 0x600000040000, 0x1000));
	CHECK(!is_code(&maps, &own_names, 0x600000050000, 0x1000)); // ours is private
	CHECK(!is_code(&maps, &none, 0x100000000000, 0x8000));      // a name that nothing vouches for
	CHECK(!is_code(&maps, &own_names, 0x7ffff0000000, 0x1000)); // anonymous, and cannot be read
	CHECK(!is_code(&maps, &own_names, 0x7ffff0020000, 0x1000)); // ours is never writable
	CHECK(!is_code(&maps, &own_names, 0x1000, 0x1000));
	proc_maps_deinit(&maps);
}

// Anonymous code, in this process: an image of two pages and an area of one.
static const uint64_t image_address = HS_LAYOUT_LOW + (UINT64_C(1) << 42),
		      area_address = HS_LAYOUT_LOW + (UINT64_C(1) << 42) + (UINT64_C(1) << 24);
enum { IMAGE_SIZE = 2 * HS_PAGE_SIZE, AREA_SIZE = HS_PAGE_SIZE };

static void *map_private(uint64_t address, size_t size)
{
	void *memory = mmap((void *)(uintptr_t)address, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	if (memory == MAP_FAILED)
		exit(2);
	return memory;
}

static void make_executable(uint64_t address, size_t size)
{
	CHECK(mprotect((void *)(uintptr_t)address, size, PROT_READ | PROT_EXEC) == 0);
}

struct proven {
	bool image, area;
};

static struct proven prove(bool may_be_unwritten)
{
	struct target_memory memory;
	struct proc_maps maps;
	const struct address_range area = { area_address, AREA_SIZE };
	const struct code_proof proof = { &memory, &own_names, { image_address, IMAGE_SIZE }, may_be_unwritten };
	struct proven proven;

	CHECK(target_memory_open(held_process(getpid()), &memory) == NULL);
	CHECK(proc_maps_read(held_process(getpid()), &maps) == NULL);
	proven = (struct proven){ code_is_ours(&proof, &maps, &proof.image), code_is_ours(&proof, &maps, &area) };
	proc_maps_deinit(&maps);
	target_memory_close(&memory);
	return proven;
}

// `image`: the address that it names, 0 = it is empty. `entry`: where its island leads, 0 = there is none.
static void make_code(uint64_t image, uint32_t image_size, uint64_t entry)
{
	static const struct relocation_result none = { 0 };
	struct payload_header *header = map_private(image_address, IMAGE_SIZE);
	struct hook_island *islands = map_private(area_address, AREA_SIZE);

	if (image) {
		header->magic = HS_PAYLOAD_MAGIC;
		header->image_size = image_size;
		header->config.code = image;
	}
	if (entry) {
		arch_fill_island(entry, 7, HOOK_malloc, &none, &islands[3]);
		islands[3].size = 5;
		islands[3].address = 0x5000;
	}
	make_executable(image_address, IMAGE_SIZE);
	make_executable(area_address, AREA_SIZE);
}

static void test_anonymous_code(void)
{
	const uint64_t entry = image_address + 64;
	uint8_t *bytes;

	make_code(image_address, IMAGE_SIZE, entry);
	CHECK(prove(false).image && prove(false).area);
	// islands that lead elsewhere, and an image of another place or size
	make_code(image_address, IMAGE_SIZE, image_address + IMAGE_SIZE);
	CHECK(prove(true).image && !prove(true).area);
	make_code(area_address, IMAGE_SIZE, entry);
	CHECK(!prove(true).image && prove(true).area);
	make_code(image_address, IMAGE_SIZE - HS_PAGE_SIZE, entry);
	CHECK(!prove(true).image);
	// the program's own
	bytes = map_private(image_address, IMAGE_SIZE);
	bytes[IMAGE_SIZE - 1] = 0xc3;
	make_executable(image_address, IMAGE_SIZE);
	bytes = map_private(area_address, AREA_SIZE);
	memset(bytes, 0xc3, AREA_SIZE);
	make_executable(area_address, AREA_SIZE);
	CHECK(!prove(true).image && !prove(true).area);
	// an attach was killed before it wrote the image, or the islands
	make_code(0, 0, 0);
	CHECK(prove(true).image && !prove(true).area);
	CHECK(!prove(false).image);
	make_code(image_address, IMAGE_SIZE, 0);
	CHECK(prove(true).image && prove(true).area);
	CHECK(prove(false).image && !prove(false).area);
	// empty as well, but larger
	map_private(area_address, AREA_SIZE + HS_PAGE_SIZE);
	make_executable(area_address, AREA_SIZE + HS_PAGE_SIZE);
	CHECK(!prove(true).area);
	munmap((void *)(uintptr_t)area_address, AREA_SIZE + HS_PAGE_SIZE);
	// writable, as ours never is
	make_code(image_address, IMAGE_SIZE, entry);
	CHECK(mprotect((void *)(uintptr_t)area_address, AREA_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
	CHECK(prove(true).image && !prove(true).area);
	munmap((void *)(uintptr_t)image_address, IMAGE_SIZE);
	munmap((void *)(uintptr_t)area_address, AREA_SIZE);
}

static void test_state_pages(void)
{
	struct proc_maps maps;

	parse("100000000000-100000002000 rw-p 00000000 00:00 0 \n"
	      "100000010000-100000012000 rw-p 00000000 08:01 11 /bin/program\n"
	      "100000020000-100000022000 r--p 00000000 00:00 0 \n"
	      "100000030000-100000032000 rw-s 00000000 00:00 0 \n"
	      "100000040000-100000042000 rw-p 00000000 00:00 0 [anon:arena]\n",
	      &maps);
	CHECK(state_pages_are_at(&maps, 0x100000000000, 0x2000));
	CHECK(!state_pages_are_at(&maps, 0x100000000000, 0x1000)); // a part of something larger
	CHECK(!state_pages_are_at(&maps, 0x100000000000, 0x3000));
	CHECK(!state_pages_are_at(&maps, 0x100000001000, 0x1000)); // not its beginning
	CHECK(!state_pages_are_at(&maps, 0x100000010000, 0x2000)); // a file
	CHECK(!state_pages_are_at(&maps, 0x100000020000, 0x2000)); // read-only
	CHECK(!state_pages_are_at(&maps, 0x100000030000, 0x2000)); // shared
	CHECK(!state_pages_are_at(&maps, 0x100000040000, 0x2000)); // the program has given it a name
	CHECK(!state_pages_are_at(&maps, 0x100000050000, 0x2000));
	proc_maps_deinit(&maps);
}

// What only looks like a region is not one.
static void test_may_be(void)
{
	struct proc_maps maps;

	parse("100000200000-100040200000 rw-s 00000000 " OWN " 8 /dev/zero (deleted)\n"
	      "200000000000-200040000000 rw-s 00000000 08:01 8 /dev/zero (deleted)\n"
	      "210000000000-210040000000 rw-s 00000000 " OWN " 8 /dev/zero\n"
	      "220000000000-220040000000 rw-p 00000000 " OWN " 8 /dev/zero (deleted)\n"
	      "230000001000-230040000000 rw-s 00000000 " OWN " 8 /dev/zero (deleted)\n"
	      "240000000000-240040000000 rw-s 00001000 " OWN " 8 /dev/zero (deleted)\n"
	      "260000000000-260040000000 rw-s 00000000 " OWN " 8 /memfd:heapsnap-region-" DIGITS " (deleted)\n"
	      "7ffff0000000-7ffff4000000 rw-s 00000000 " OWN " 8 /dev/zero (deleted)\n",
	      &maps);
	CHECK_EQUAL(maps.count, 8);
	CHECK(region_may_be(&maps.items[0]));
	for (size_t i = 1; i < maps.count; i++)
		CHECK(!region_may_be(&maps.items[i]));
	proc_maps_deinit(&maps);
}

static void *map_shared(uint64_t address, uint64_t size, int protection)
{
	void *memory = mmap((void *)(uintptr_t)address, size, protection,
			    MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (memory == MAP_FAILED)
		exit(2);
	return memory;
}

// In this process: a region is known by its header, one without a header by whoever names its place, and another
// program's memory is neither.
static void test_find(void)
{
	const uint64_t size = HS_OFFSET_PAGES;
	// Above the address sanitizer's shadow, which ends in the lowest part of the range.
	const struct address_range bare = { HS_LAYOUT_LOW + (UINT64_C(1) << 41), size },
				   other = { bare.address, size + HS_PAGE_SIZE };
	uint64_t *foreign = map_shared(HS_LAYOUT_LOW + (UINT64_C(1) << 40), size, PROT_READ | PROT_WRITE);
	struct region_header *header = map_shared(bare.address, size, PROT_NONE);
	struct target_memory memory;
	struct proc_maps maps;

	CHECK(target_memory_open(held_process(getpid()), &memory) == NULL);
	foreign[0] = 1;
	CHECK(proc_maps_read(held_process(getpid()), &maps) == NULL);
	CHECK(!region_find(&maps, &memory));
	CHECK(region_is_bare(&maps, &memory, &bare));
	CHECK(!region_is_bare(&maps, &memory, &other));
	CHECK(!region_is_bare(&maps, &memory, &(struct address_range){ (uint64_t)foreign, size }));
	proc_maps_deinit(&maps);

	CHECK(mprotect(header, size, PROT_READ | PROT_WRITE) == 0);
	header->stable.magic = HS_REGION_MAGIC;
	CHECK(proc_maps_read(held_process(getpid()), &maps) == NULL);
	CHECK(!region_find(&maps, &memory)); // it names no place, or another one
	header->stable.region_address = bare.address + HS_LAYOUT_GAP;
	CHECK(!region_find(&maps, &memory));
	header->stable.region_address = bare.address;
	CHECK(region_find(&maps, &memory) && region_find(&maps, &memory)->start == bare.address);
	CHECK(!region_is_bare(&maps, &memory, &bare));
	proc_maps_deinit(&maps);
	target_memory_close(&memory);
	munmap(foreign, size);
	munmap(header, size);
}

// The target may have written over the names, which are printed.
static void test_hook_names(void)
{
	struct region_access access = { .fd = -1 };
	struct hook_record *hooks, *first, *second;
	struct made_region region;

	made_region_init(&region, 16);
	first = made_hook(&region, "");
	second = made_hook(&region, "b\x1b[2J\n\xff~ ");
	memset(first->name, 'a', sizeof(first->name)); // without an end
	second->address = UINT64_MAX;
	CHECK(target_memory_open(held_process(getpid()), &access.memory) == NULL);
	access.address = (uint64_t)region.bytes;
	access.header = *region.header;
	CHECK(region_read_hooks(&access, &hooks) == NULL);
	CHECK_EQUAL(strnlen(hooks[0].name, sizeof(hooks[0].name)), sizeof(hooks[0].name) - 1);
	CHECK_EQUAL(hooks[1].address, UINT64_MAX);
	CHECK_STRING(hooks[1].name, "b?[2J??~ ");
	free(hooks);
	target_memory_close(&access.memory);
	made_region_deinit(&region);
}

int main(void)
{
	test_header();
	test_hook_names();
	test_code();
	test_anonymous_code();
	test_state_pages();
	test_may_be();
	test_find();
	return CHECK_RESULT();
}
