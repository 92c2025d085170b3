// SPDX-License-Identifier: Apache-2.0
// Whether a thread is inside the payload, by what its stack holds and what its slot says. Stacks made by hand, in this process's memory; nobody can walk
// them, for their threads stand where no module is.
#include "check.h"

#include "attach/inside.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, SIZE = 400 * PAGE, CLOSE = 128, DEEP = 300 * PAGE }; // more than 1 MiB is not kept for a walk

#define PAYLOAD UINT64_C(0x600000000000)

struct made {
	uint8_t *low;                // the stack pointer; the control block lies at the stack's end
	struct slot_facts slot;
	bool has_slot;
};

static struct made make(void)
{
	struct made made = { .low = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), .has_slot = true };
	uint64_t block = (uint64_t)made.low + SIZE - PAGE;

	if (made.low == MAP_FAILED)
		exit(1);
	made.slot = (struct slot_facts){ .thread_pointer = block, .stack_low = (uint64_t)made.low, .stack_high = block };
	return made;
}

static void put(const struct made *made, size_t offset, uint64_t word) { memcpy(made->low + offset, &word, sizeof(word)); }

// Unmaps the stack.
static bool is_inside(const struct made *made, uint64_t pc)
{
	const struct region_part ranges[] = { { PAYLOAD, 0x10000 }, { PAYLOAD + 0x100000, 0x1000 } };
	struct slot_facts slot = made->slot;
	const struct slot_facts_list slots = { .items = &slot, .count = made->has_slot };
	struct frozen_thread thread = { .tid = 0x40000001 };
	struct unwind_tables tables;
	struct inside_search search;
	struct target_memory memory;
	struct proc_maps maps;
	bool inside = false;

	thread.registers.rsp = (uint64_t)made->low;
	thread.registers.rip = pc;
	thread.registers.fs_base = made->slot.thread_pointer;
	CHECK(target_memory_open(getpid(), &memory) == NULL);
	CHECK(unwind_tables_read(&memory, &tables) == NULL);
	CHECK(proc_maps_read(getpid(), &maps) == NULL);
	CHECK(inside_begin(&memory, &maps, &slots, &tables, ranges, 2, &search) == NULL);
	CHECK(inside_check(&search, &thread, &inside) == NULL);
	inside_end(&search);
	proc_maps_deinit(&maps);
	unwind_tables_deinit(&tables);
	target_memory_close(&memory);
	munmap(made->low, SIZE);
	return inside;
}

#define NOWHERE UINT64_C(0x10) // no module is there

static void test_places(void)
{
	struct made made = make();

	CHECK(!is_inside(&made, NOWHERE)); // no word of it on the stack
	made = make();
	CHECK(is_inside(&made, PAYLOAD));
	made = make();
	CHECK(is_inside(&made, PAYLOAD + 0x100fff));
	made = make();
	CHECK(!is_inside(&made, PAYLOAD + 0x101000));
	made = make();
	put(&made, CLOSE, PAYLOAD + 0x10000); // right behind
	CHECK(!is_inside(&made, NOWHERE));
}

// A word of it on the stack may be left over, or be a return address: the slot says.
static void test_slots(void)
{
	struct made made = make();

	put(&made, CLOSE, PAYLOAD + 100);
	CHECK(!is_inside(&made, NOWHERE)); // no hook runs
	made = make();
	put(&made, CLOSE, PAYLOAD + 100);
	made.has_slot = false;
	CHECK(is_inside(&made, NOWHERE)); // who knows
	made = make();
	put(&made, CLOSE, PAYLOAD + 100);
	made.slot.is_of_several = true; // it may be the other thread that says so
	CHECK(is_inside(&made, NOWHERE));
	made = make();
	put(&made, CLOSE, PAYLOAD + 100);
	made.slot.guard = (uint64_t)made.low + 512; // one runs, further out
	CHECK(is_inside(&made, NOWHERE));
}

// Further out than what is kept of a stack.
static void test_deep(void)
{
	struct made made = make();

	put(&made, DEEP, PAYLOAD + 100);
	CHECK(is_inside(&made, NOWHERE));
	made = make();
	put(&made, DEEP, PAYLOAD + 100);
	made.has_slot = false;
	CHECK(is_inside(&made, NOWHERE));
	made = make();
	put(&made, DEEP, PAYLOAD - 1);
	CHECK(!is_inside(&made, NOWHERE));
}

// The hook's return address lies on another stack than the thread is now: the words right below it decide.
static void test_elsewhere(void)
{
	for (int points = 0; points < 2; points++) {
		struct made made = make();
		uint64_t *other = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		other[700] = 1;
		other[690] = points ? PAYLOAD + 8 : 8;
		made.slot.guard = (uint64_t)&other[700];
		CHECK_EQUAL(is_inside(&made, NOWHERE), points);
		munmap(other, 2 * PAGE);
	}
}

int main(void)
{
	test_places();
	test_slots();
	test_deep();
	test_elsewhere();
	return CHECK_RESULT();
}
