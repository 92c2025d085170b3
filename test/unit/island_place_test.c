// SPDX-License-Identifier: Apache-2.0
#include "attach/hook/island_place.h"
#include "check.h"

#include <string.h>

#define KIB(n) ((uint64_t)(n) << 10)
#define MIB(n) ((uint64_t)(n) << 20)
#define GIB(n) ((uint64_t)(n) << 30)

// Whether [address, address + size) is within 2 GiB of every byte of the span and far enough from every mapping.
static bool is_good(const struct proc_maps *maps, struct address_span span, uint64_t address, uint64_t size)
{
	if (address == 0 || address % 4096 != 0)
		return false;
	if (address + size > span.low && address + size - span.low > GIB(2))
		return false;
	if (span.high > address && span.high - address > GIB(2))
		return false;
	for (size_t i = 0; i < maps->count; i++) {
		if (address < maps->items[i].end + KIB(64) && maps->items[i].start < address + size + KIB(64))
			return false;
	}
	return true;
}

static void test_libraries(void)
{
	// A PIE program, its heap, libraries, stack.
	struct proc_map items[] = {
		{ .start = 0x555555554000, .end = 0x555555574000, .name = "/program" },
		{ .start = 0x555555580000, .end = 0x5555555a0000, .name = "[heap]" },
		{ .start = 0x7ffff7d00000, .end = 0x7ffff7e00000, .name = "/libc" },
		{ .start = 0x7ffff7fc0000, .end = 0x7ffff7fff000, .name = "/loader" },
		{ .start = 0x7ffffffde000, .end = 0x7ffffffff000, .name = "[stack]" },
	};
	struct proc_maps maps = { items, 5, NULL };
	struct address_span libraries = { 0x7ffff7d00000, 0x7ffff7fff000 };
	struct address_span program = { 0x555555554000, 0x555555574000 };
	uint64_t address = island_place(&maps, libraries, 8192, 0x555555574000, NULL, 0), second;

	CHECK(is_good(&maps, libraries, address, 8192));
	CHECK(address < libraries.low); // above it the stack may grow
	second = island_place(&maps, libraries, 8192, 0x555555574000, &(struct address_span){ address, address + 8192 },
			      1);
	CHECK(is_good(&maps, libraries, second, 8192));
	CHECK(second + 8192 + KIB(64) <= address);

	address = island_place(&maps, program, 4096, 0x555555574000, NULL, 0);
	CHECK(is_good(&maps, program, address, 4096));
	CHECK(address < program.low); // above it the heap may grow
}

static void test_fixed_program(void)
{
	// A program at its fixed address, a heap far above it.
	struct proc_map items[] = {
		{ .start = 0x400000, .end = 0xaca000, .name = "/program" },
		{ .start = 0x20000000, .end = 0x20100000, .name = "[heap]" },
	};
	struct proc_maps maps = { items, 2, NULL };
	struct address_span span = { 0x400000, 0xaca000 };
	uint64_t address = island_place(&maps, span, 4096, 0xaca000, NULL, 0);

	CHECK(is_good(&maps, span, address, 4096));
	CHECK(address >= MIB(1) && address < 0x400000);

	// No room below: above, but neither right behind the program nor above the heap.
	items[0].start = span.low = 0x100000;
	address = island_place(&maps, span, 4096, 0xaca000, NULL, 0);
	CHECK(is_good(&maps, span, address, 4096));
	CHECK(address >= 0x20100000 + GIB(1));

	// No heap yet: it may begin up to 1 GiB above the program, and grow.
	maps.count = 1;
	address = island_place(&maps, span, 4096, 0xaca000, NULL, 0);
	CHECK_EQUAL(address, 0); // 2 GiB above the program is out of reach already
	items[0].start = span.low = 0x400000;
	CHECK(island_place(&maps, span, 4096, 0xaca000, NULL, 0) < 0x400000);
}

static void test_no_place(void)
{
	struct proc_map item = { .start = 0, .end = GIB(64), .name = "" };
	struct proc_maps maps = { &item, 1, NULL };

	CHECK_EQUAL(island_place(&maps, (struct address_span){ GIB(30), GIB(30) + 4096 }, 4096, 0, NULL, 0), 0);
	// More than 2 GiB apart: no place reaches both ends.
	item.end = 4096;
	CHECK_EQUAL(island_place(&maps, (struct address_span){ GIB(30), GIB(35) }, 4096, 0, NULL, 0), 0);
	CHECK(island_place(&maps, (struct address_span){ GIB(30), GIB(31) }, 4096, 0, NULL, 0) != 0);
	CHECK(island_span_is_small((struct address_span){ GIB(30), GIB(31) }));
	CHECK(!island_span_is_small((struct address_span){ GIB(30), GIB(31) + 1 }));
}

static void test_stack(void)
{
	// Code up to where the stack may grow to, and nothing free below it within reach.
	struct proc_map items[] = {
		{ .start = 0x7fff60000000, .end = 0x7fffefff0000, .name = "/library" },
		{ .start = 0x7ffffffde000, .end = 0x7ffffffff000, .name = "[stack]" },
	};
	struct proc_maps maps = { items, 2, NULL };
	struct address_span span = { 0x7fffefe00000, 0x7fffefff0000 };

	CHECK_EQUAL(island_place(&maps, span, 4096, 0, NULL, 0), 0);
	items[1].name = "";
	CHECK(island_place(&maps, span, 4096, 0, NULL, 0) >= span.high);
}

int main(void)
{
	test_libraries();
	test_fixed_program();
	test_no_place();
	test_stack();
	return CHECK_RESULT();
}
