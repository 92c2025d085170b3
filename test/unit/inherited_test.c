// SPDX-License-Identifier: Apache-2.0
// Code of ours in a process without a region: what counts as it, and what its islands say. The process is this one.
#include "check.h"
#include "held_process.h"

#include "attach/arch/island_code.h"
#include "attach/region/code_proof.h"
#include "attach/session/inherited.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U // since Linux 6.3
#endif

static struct hook_island make_island(uint64_t entry, uint32_t index, uint64_t address)
{
	static const struct relocation_result none = { 0 };
	struct hook_island island;

	arch_fill_island(entry, index, HOOK_malloc, &none, &island);
	island.address = address;
	island.kind = HOOK_calloc;
	island.size = 5;
	for (uint8_t i = 0; i < 16; i++)
		island.old_bytes[i] = (uint8_t)(0x40 + i);
	return island;
}

static void test_hook(void)
{
	static const uint8_t jump[16] = { 0xe9, 0x0b, 0xf0, 0xff, 0xff, 0x45, 0x46, 0x47,
					  0x48, 0x49, 0x4a, 0x4b, 0x4c, 0x4d, 0x4e, 0x4f };
	struct hook_island island = make_island(0x1000, 3, 0x201000), other, exit_point;
	struct hook_record hook;

	// 0x201005 - 0xff5 = 0x200010, the island's stub
	CHECK(code_island_hook(0x200000, &island, &hook));
	CHECK_EQUAL(hook.address, 0x201000);
	CHECK_EQUAL(hook.island, 0x200000);
	CHECK_EQUAL(hook.kind, HOOK_calloc);
	CHECK_EQUAL(hook.state, HOOK_APPLIED);
	CHECK_EQUAL(hook.size, 5);
	CHECK(memcmp(hook.old_bytes, island.old_bytes, 16) == 0);
	CHECK(memcmp(hook.new_bytes, jump, 16) == 0);

	other = island;
	other.stub[3] ^= 1;
	CHECK(!code_island_hook(0x200000, &other, &hook));
	other = island;
	other.size = 17;
	CHECK(!code_island_hook(0x200000, &other, &hook));
	other = island;
	other.begin = 0x48; // 0x201005 - 0xfbd = 0x200048, in the inline fast path
	CHECK(code_island_hook(0x200000, &other, &hook));
	CHECK(memcmp(hook.new_bytes, "\xe9\x43\xf0\xff\xff", 5) == 0);
	other.begin = HS_ISLAND_TRAMPOLINE_OFFSET;
	CHECK(!code_island_hook(0x200000, &other, &hook));
	other.begin = HS_ISLAND_STUB_OFFSET - 1; // what stands before the code
	CHECK(!code_island_hook(0x200000, &other, &hook));
	other.begin = 0;
	CHECK(!code_island_hook(0x200000, &other, &hook));
	other.kind = HOOK_exit_point; // begins with the copied code, and nowhere else
	other.begin = HS_ISLAND_TRAMPOLINE_OFFSET;
	CHECK(!code_island_hook(0x200000, &other, &hook)); // the stub of another kind
	arch_fill_island(0x1000, 3, HOOK_exit_point, &(struct relocation_result){ 0 }, &exit_point);
	memcpy(other.stub, exit_point.stub, sizeof(other.stub));
	CHECK(code_island_hook(0x200000, &other, &hook));
	other.begin = HS_ISLAND_STUB_OFFSET;
	CHECK(!code_island_hook(0x200000, &other, &hook));
	other = island;
	other.hook_index = HS_HOOKS_MAX;
	CHECK(!code_island_hook(0x200000, &other, &hook));
	other = island;
	other.kind = HOOK_KIND_COUNT; // one that a later version has added
	CHECK(code_island_hook(0x200000, &other, &hook));
	other.kind = HS_HOOK_KINDS_MAX;
	CHECK(!code_island_hook(0x200000, &other, &hook));
}

static const uint64_t code = UINT64_C(0x300000000000), area = UINT64_C(0x300000100000);
static char made[HS_CODE_NAME_SIZE]; // a name that heapsnap could have made here

static struct inherited read_own(void)
{
	struct inherited inherited;
	struct target_memory memory;
	struct code_names names;
	struct proc_maps maps;

	CHECK(target_memory_open(held_process(getpid()), &memory) == NULL);
	CHECK(proc_maps_read(held_process(getpid()), &maps) == NULL);
	code_names_read(&memory, &names);
	CHECK(inherited_read(&maps, &memory, &names, &inherited) == NULL);
	proc_maps_deinit(&maps);
	target_memory_close(&memory);
	return inherited;
}

static uint8_t *map(uint64_t address, size_t size, int protection, int fd, off_t offset)
{
	int flags = MAP_PRIVATE | MAP_FIXED_NOREPLACE | (fd < 0 ? MAP_ANONYMOUS : 0);
	uint8_t *start = mmap((void *)(uintptr_t)address, size, protection, flags, fd, offset);

	if (start == MAP_FAILED)
		exit(2);
	return start;
}

static void check_no_state_pages(void)
{
	struct inherited inherited = read_own();

	CHECK_EQUAL(inherited.code_count, 1);
	CHECK(inherited.state_size == 0);
	inherited_deinit(&inherited);
}

static size_t parts_found(void)
{
	struct inherited inherited = read_own();
	size_t count = inherited.code_count;

	inherited_deinit(&inherited);
	return count;
}

// The content of a code file: an image of two pages, and an area of two islands.
static int make_file(const char *name, uint64_t address)
{
	struct hook_island islands[2] = { make_island(address + 64, 0, 0x5000), make_island(address + 128, 2, 0x6000) };
	struct payload_header header = {
		.magic = HS_PAYLOAD_MAGIC,
		.image_size = 8192,
		.config.code = address,
		.config.state = address + 8192,
		.config.state_size = HS_STATE_SIZE,
	};
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_EXEC);

	if (fd < 0)
		fd = memfd_create(name, MFD_CLOEXEC);
	CHECK(pwrite(fd, &header, sizeof(header), 0) == (ssize_t)sizeof(header));
	CHECK(pwrite(fd, islands, sizeof(islands), 8192) == (ssize_t)sizeof(islands));
	CHECK(ftruncate(fd, 12288) == 0);
	return fd;
}

static void copy_file(int fd, uint64_t address, size_t size, off_t offset)
{
	uint8_t *memory = map(address, size, PROT_READ | PROT_WRITE, -1, 0);

	CHECK(pread(fd, memory, size, offset) == (ssize_t)size);
	CHECK(mprotect(memory, size, PROT_READ | PROT_EXEC) == 0);
}

static void unmap_all(void)
{
	munmap((void *)(uintptr_t)area, 4096);
	munmap((void *)(uintptr_t)code, 8192);
	munmap((void *)(uintptr_t)(code + 8192), HS_STATE_SIZE);
}

// Files that a client has handed over are as ours in all but their name; or have our name, but are not what it stands
// for.
static void test_foreign(void)
{
	int own = make_file(made, code), other = make_file(made, code),
	    forged = make_file("heapsnap-code-0123456789abcdef0123456789abcdef", code);
	struct inherited inherited;

	for (int protection = PROT_READ; protection <= (PROT_READ | PROT_EXEC); protection += PROT_EXEC) {
		map(code, 8192, protection, forged, 0);
		map(area, 4096, protection, forged, 8192);
		map(code + 8192, HS_STATE_SIZE, PROT_READ | PROT_WRITE, -1, 0);
		CHECK_EQUAL(parts_found(), 0);
		unmap_all();
	}
	// Islands alone, and an image that belongs elsewhere.
	map(area, 4096, PROT_READ | PROT_EXEC, own, 8192);
	CHECK_EQUAL(parts_found(), 0);
	map(code + 0x1000000, 8192, PROT_READ | PROT_EXEC, own, 0);
	CHECK_EQUAL(parts_found(), 0);
	munmap((void *)(uintptr_t)(code + 0x1000000), 8192);
	unmap_all();
	// Beside an image, islands of other files, of the image's own part, and such as are not code.
	map(code, 8192, PROT_READ, own, 0);
	CHECK_EQUAL(parts_found(), 1); // the note
	map(area, 4096, PROT_READ | PROT_EXEC, forged, 8192);
	CHECK_EQUAL(parts_found(), 1);
	munmap((void *)(uintptr_t)area, 4096);
	map(area, 4096, PROT_READ | PROT_EXEC, other, 8192);
	CHECK_EQUAL(parts_found(), 1);
	munmap((void *)(uintptr_t)area, 4096);
	map(area, 4096, PROT_READ, own, 8192);
	CHECK_EQUAL(parts_found(), 1);
	munmap((void *)(uintptr_t)area, 4096);
	map(area, 4096, PROT_READ | PROT_EXEC, own, 4096);
	CHECK_EQUAL(parts_found(), 1);
	munmap((void *)(uintptr_t)area, 4096);
	// Not the state pages: other protection, and what the image does not name.
	map(code + 8192, HS_STATE_SIZE, PROT_READ, -1, 0);
	inherited = read_own();
	CHECK(inherited.state_size == 0);
	inherited_deinit(&inherited);
	unmap_all();
	close(own);
	own = make_file(made, code);
	CHECK(pwrite(own, &(uint64_t){ code }, 8, offsetof(struct payload_header, config.state)) == 8);
	map(code, 8192, PROT_READ | PROT_EXEC, own, 0);
	map(code + 8192, HS_STATE_SIZE, PROT_READ | PROT_WRITE, -1, 0);
	inherited = read_own();
	CHECK_EQUAL(inherited.code_count, 1);
	CHECK(inherited.state_size == 0);
	inherited_deinit(&inherited);
	unmap_all();
	close(own);
	close(other);
	close(forged);
}

// An image where the kernel places what programs map: ours never is there.
static void test_anywhere(void)
{
	uint8_t *place = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t address = (uint64_t)(uintptr_t)place;
	int fd = make_file(made, address);

	munmap(place, 8192);
	copy_file(fd, address, 8192, 0);
	CHECK_EQUAL(parts_found(), 0);
	munmap(place, 8192);
	map(address, 8192, PROT_READ | PROT_EXEC, fd, 0);
	CHECK_EQUAL(parts_found(), 0);
	munmap(place, 8192);
	close(fd);
}

// The image of two pages, state pages, an area with two islands; as named memory files or as anonymous memory.
static void test_maps(bool named)
{
	const uint64_t copy = code - 0x100000;
	int fd = make_file(made, code);
	struct inherited inherited;
	int foreign;

	CHECK_EQUAL(parts_found(), 0);
	if (named) {
		map(code, 8192, PROT_READ | PROT_EXEC, fd, 0);
		map(area, 4096, PROT_READ | PROT_EXEC, fd, 8192);
	} else {
		copy_file(fd, code, 8192, 0);
		copy_file(fd, area, 4096, 8192);
		// The program's own: a copy that it has made of the image.
		copy_file(fd, copy, 8192, 0);
	}
	close(fd);
	map(code + 8192, HS_STATE_SIZE, PROT_READ | PROT_WRITE, -1, 0);

	inherited = read_own();
	CHECK_EQUAL(inherited.code_count, 2);
	CHECK_EQUAL(inherited.code[0].address, code);
	CHECK_EQUAL(inherited.code[0].size, 8192);
	CHECK_EQUAL(inherited.code[1].address, area);
	CHECK_EQUAL(inherited.code[1].size, 4096);
	CHECK(inherited.state_size == HS_STATE_SIZE);
	CHECK_EQUAL(inherited.hook_count, 3);
	CHECK_EQUAL(inherited.hooks[0].address, 0x5000);
	CHECK_EQUAL(inherited.hooks[1].state, HOOK_PLANNED);
	CHECK_EQUAL(inherited.hooks[2].address, 0x6000);
	CHECK_EQUAL(inherited.hooks[2].island, area + sizeof(struct hook_island));
	inherited_deinit(&inherited);

	// A detach that was killed: the islands are gone, and then the image's state pages.
	munmap((void *)(uintptr_t)area, 4096);
	munmap((void *)(uintptr_t)(code + 8192), HS_STATE_SIZE);
	inherited = read_own();
	CHECK_EQUAL(inherited.code_count, 1);
	CHECK(inherited.state_size == 0);
	CHECK_EQUAL(inherited.hook_count, 0);
	inherited_deinit(&inherited);

	// The place of the state pages has gone to somebody else: to a file, or to memory that is larger.
	foreign = memfd_create("somebody's", MFD_CLOEXEC);
	CHECK(ftruncate(foreign, HS_STATE_SIZE) == 0);
	map(code + 8192, HS_STATE_SIZE, PROT_READ | PROT_WRITE, foreign, 0);
	close(foreign);
	check_no_state_pages();
	munmap((void *)(uintptr_t)(code + 8192), HS_STATE_SIZE);
	map(code + 8192, HS_STATE_SIZE + 4096, PROT_READ | PROT_WRITE, -1, 0);
	check_no_state_pages();
	munmap((void *)(uintptr_t)(code + 8192), HS_STATE_SIZE + 4096);
	munmap((void *)(uintptr_t)code, 8192);
	if (!named)
		munmap((void *)(uintptr_t)copy, 8192);
}

int main(void)
{
	struct target_memory memory;
	struct code_names names;
	uint64_t nonce;

	CHECK(target_memory_open(held_process(getpid()), &memory) == NULL);
	code_names_read(&memory, &names);
	CHECK(code_names_make(&names, made, &nonce) == NULL);
	target_memory_close(&memory);
	test_hook();
	test_foreign();
	test_anywhere();
	test_maps(true);
	test_maps(false);
	return CHECK_RESULT();
}
