// SPDX-License-Identifier: Apache-2.0
// Code of ours in a process without a region: what counts as it, and what its islands say. The process is this one.
#include "check.h"

#include "attach/inherited.h"
#include "attach/relocate.h"

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

	hook_fill_island(entry, index, &none, &island);
	island.address = address;
	island.kind = HOOK_calloc;
	island.size = 5;
	for (uint8_t i = 0; i < 16; i++)
		island.old_bytes[i] = (uint8_t)(0x40 + i);
	return island;
}

static void test_hook(void)
{
	static const uint8_t jump[16] = { 0xe9, 0x0b, 0xf0, 0xff, 0xff, 0x45, 0x46, 0x47, 0x48, 0x49, 0x4a, 0x4b, 0x4c, 0x4d, 0x4e, 0x4f };
	struct hook_island island = make_island(0x1000, 3, 0x201000), other;
	struct hook_record hook;

	// 0x201005 - 0xff5 = 0x200010, the island's stub
	CHECK(inherited_hook(0x200000, &island, &hook));
	CHECK_EQUAL(hook.address, 0x201000);
	CHECK_EQUAL(hook.island, 0x200000);
	CHECK_EQUAL(hook.kind, HOOK_calloc);
	CHECK_EQUAL(hook.state, HOOK_APPLIED);
	CHECK_EQUAL(hook.size, 5);
	CHECK(memcmp(hook.old_bytes, island.old_bytes, 16) == 0);
	CHECK(memcmp(hook.new_bytes, jump, 16) == 0);

	other = island;
	other.stub[3] ^= 1;
	CHECK(!inherited_hook(0x200000, &other, &hook));
	other = island;
	other.size = 17;
	CHECK(!inherited_hook(0x200000, &other, &hook));
	other = island;
	other.begin = 0x48; // 0x201005 - 0xfbd = 0x200048, in the short way
	CHECK(inherited_hook(0x200000, &other, &hook));
	CHECK(memcmp(hook.new_bytes, "\xe9\x43\xf0\xff\xff", 5) == 0);
	other.begin = HS_ISLAND_TRAMPOLINE_OFFSET;
	CHECK(!inherited_hook(0x200000, &other, &hook));
	other.begin = HS_ISLAND_STUB_OFFSET - 1; // what stands before the code
	CHECK(!inherited_hook(0x200000, &other, &hook));
	other.begin = 0;
	CHECK(!inherited_hook(0x200000, &other, &hook));
	other.kind = HOOK_way_out; // begins with the copied code, and nowhere else
	other.begin = HS_ISLAND_TRAMPOLINE_OFFSET;
	CHECK(inherited_hook(0x200000, &other, &hook));
	other.begin = HS_ISLAND_STUB_OFFSET;
	CHECK(!inherited_hook(0x200000, &other, &hook));
	other = island;
	other.hook_index = HS_HOOKS_MAX;
	CHECK(!inherited_hook(0x200000, &other, &hook));
	other = island;
	other.kind = HOOK_KIND_COUNT;
	CHECK(!inherited_hook(0x200000, &other, &hook));
}

static struct inherited read_own(void)
{
	struct inherited inherited;
	struct target_memory memory;
	struct proc_maps maps;

	CHECK(target_memory_open(getpid(), &memory) == NULL);
	CHECK(proc_maps_read(getpid(), &maps) == NULL);
	CHECK(inherited_read(&maps, &memory, &inherited) == NULL);
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
	CHECK(!inherited.has_state_pages);
	inherited_deinit(&inherited);
}

// The image of two pages, state pages, an area with two islands; as named memory files or as anonymous memory.
static void test_maps(bool named)
{
	const uint64_t code = UINT64_C(0x300000000000), area = UINT64_C(0x300000100000), copy = code - 0x100000;
	struct hook_island islands[2] = { make_island(code + 64, 0, 0x5000), make_island(code + 128, 2, 0x6000) };
	struct payload_header header = { .magic = HS_PAYLOAD_MAGIC, .image_size = 8192, .config.code = code };
	struct inherited inherited = read_own();
	int foreign;

	CHECK_EQUAL(inherited.code_count, 0);
	inherited_deinit(&inherited);
	if (named) {
		int fd = memfd_create("heapsnap-code-0123456789abcdef", MFD_CLOEXEC | MFD_EXEC);

		if (fd < 0)
			fd = memfd_create("heapsnap-code-0123456789abcdef", MFD_CLOEXEC);
		CHECK(pwrite(fd, &header, sizeof(header), 0) == (ssize_t)sizeof(header));
		CHECK(pwrite(fd, islands, sizeof(islands), 8192) == (ssize_t)sizeof(islands));
		CHECK(ftruncate(fd, 12288) == 0);
		map(code, 8192, PROT_READ | PROT_EXEC, fd, 0);
		map(area, 4096, PROT_READ | PROT_EXEC, fd, 8192);
		close(fd);
	} else {
		memcpy(map(code, 8192, PROT_READ | PROT_WRITE, -1, 0), &header, sizeof(header));
		memcpy(map(area, 4096, PROT_READ | PROT_WRITE, -1, 0), islands, sizeof(islands));
		CHECK(mprotect((void *)(uintptr_t)code, 8192, PROT_READ | PROT_EXEC) == 0);
		CHECK(mprotect((void *)(uintptr_t)area, 4096, PROT_READ | PROT_EXEC) == 0);
		// The program's own: a copy that it has made of the image.
		memcpy(map(copy, 8192, PROT_READ | PROT_WRITE, -1, 0), &header, sizeof(header));
		CHECK(mprotect((void *)(uintptr_t)copy, 8192, PROT_READ | PROT_EXEC) == 0);
	}
	map(code + 8192, HS_STATE_SIZE, PROT_READ | PROT_WRITE, -1, 0);

	inherited = read_own();
	CHECK_EQUAL(inherited.code_count, 2);
	CHECK_EQUAL(inherited.code[0].offset, code);
	CHECK_EQUAL(inherited.code[0].size, 8192);
	CHECK_EQUAL(inherited.code[1].offset, area);
	CHECK_EQUAL(inherited.code[1].size, 4096);
	CHECK(inherited.has_state_pages);
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
	CHECK(!inherited.has_state_pages);
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
	test_hook();
	test_maps(true);
	test_maps(false);
	return CHECK_RESULT();
}
