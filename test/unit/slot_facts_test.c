// SPDX-License-Identifier: Apache-2.0
// What the slots say of threads, and of which of several threads: in a region made by hand.
#include "check.h"
#include "held_process.h"
#include "made_region.h"

#include "attach/region/slot_facts.h"
#include "attach/region/thread_slots.h"

#include <unistd.h>

enum { SLOTS = 4 };

static struct slot_facts_list read_facts(const struct made_region *region, const uint64_t *pointers, size_t count)
{
	struct region_access access = {
		.fd = -1, .address = (uint64_t)region->bytes, .size = region->size, .header = *region->header
	};
	struct frozen_thread threads[SLOTS] = { 0 };
	const struct frozen_process process = { .process = held_process(getpid()), .threads = threads, .count = count };
	struct slot_facts_list facts = { 0 };

	for (size_t i = 0; i < count; i++)
		threads[i].registers.fs_base = pointers[i];
	CHECK(target_memory_open(held_process(getpid()), &access.memory) == NULL);
	CHECK(slot_facts_read(&access, &process, &facts) == NULL);
	target_memory_close(&access.memory);
	return facts;
}

static void test_facts(void)
{
	struct slot_facts_list facts;
	struct made_region region;
	uint64_t pointers[SLOTS];
	size_t with_left = 0, without = 0;

	made_region_init(&region, 16);
	for (uint32_t i = 0; i < SLOTS; i++) {
		struct shared_slot *slot = made_slot(&region, i * 7 % SLOTS); // not in the order of their pointers

		slot->guard = 0x1000 + i * 7 % SLOTS * 16;
		slot->left_count = i % 2;
		slot->left_guards[HS_LEFT_GUARDS - 1] = slot->guard + 8;
		slot->stack_low = slot->thread_pointer - 0x10000;
		slot->stack_high = slot->thread_pointer;
		pointers[i * 7 % SLOTS] = slot->thread_pointer;
	}
	facts = read_facts(&region, pointers, SLOTS);
	CHECK_EQUAL(facts.count, SLOTS);
	for (size_t i = 0; i < SLOTS; i++) {
		const struct slot_facts *slot = slot_facts_find(&facts, pointers[i]);

		CHECK(slot && slot->guard == 0x1000 + i * 16 && slot->stack_low == pointers[i] - 0x10000 &&
		      slot->stack_high == pointers[i]);
		CHECK(slot && !slot->is_of_several);
		with_left += slot && slot->left[HS_LEFT_GUARDS - 1] == slot->guard + 8;
		without += slot && !slot->left[HS_LEFT_GUARDS - 1];
	}
	CHECK_EQUAL(with_left, SLOTS / 2);
	CHECK_EQUAL(without, SLOTS - SLOTS / 2);
	CHECK(!slot_facts_find(&facts, pointers[0] + 8));
	slot_facts_deinit(&facts);
	made_region_deinit(&region);
}

// A region of another version: all that a detach needs lies elsewhere, and there may be more of it.
static void test_other_layout(void)
{
	enum { PAGES = 32, EXTRA_PAGE = 20, SLOTS_AT = 4 };
	static _Alignas(4096) uint8_t bytes[PAGES * HS_PAGE_SIZE];
	static const struct stable_layout layout = {
		.slots = SLOTS_AT * HS_PAGE_SIZE,
		.slot_stride = 2 * HS_PAGE_SIZE,
		.slot_count = 64,
		.used_slots = 0x808,
		.extra_slots = 0x900,
		.extra_slot_count = 0x804,
		.extra_slots_max = 4,
		.forgotten_guards = 0xa00,
		.forgotten_count = 70,
		.guards_lost = 0x800,
		.key = 0x40,
		.guard = 0x10,
		.in_original = 0x4,
		.stack_low = 0x100,
		.stack_high = 0x108,
		.left_count = 0xffc,
		.left_guards = 0x20,
		.left_guards_count = 3,
	};
	const struct made_region region = { .bytes = bytes, .size = sizeof(bytes), .header = (void *)bytes };
	const uint64_t pointers[2] = { 0x7f0000001000, 0x7f0000002000 };
	uint8_t *const slots[2] = { bytes + (SLOTS_AT + 2 * 3) * HS_PAGE_SIZE, bytes + EXTRA_PAGE * HS_PAGE_SIZE };
	struct slot_facts_list facts;

	region.header->stable.abi_version = HS_ABI_VERSION + 1;
	region.header->stable.layout = layout;
	*(uint64_t *)(bytes + 0x808) = UINT64_C(1) << 3;
	*(uint32_t *)(bytes + 0x804) = 3;
	((uint32_t *)(bytes + 0x900))[1] = EXTRA_PAGE;
	((uint32_t *)(bytes + 0x900))[2] = PAGES - 1; // it would end behind the region
	((uint64_t *)(bytes + 0xa00))[69] = 0x1230;
	*(uint32_t *)(bytes + 0x800) = 1;
	for (size_t i = 0; i < 2; i++) {
		*(uint64_t *)(slots[i] + 0x40) = pointers[i];
		*(uint64_t *)(slots[i] + 0x10) = 0x1000 + i;
		*(uint32_t *)(slots[i] + 0x4) = (uint32_t)i;
		*(uint64_t *)(slots[i] + 0x100) = 0x10000 + i;
		*(uint64_t *)(slots[i] + 0x108) = 0x20000 + i;
		*(uint32_t *)(slots[i] + 0xffc) = (uint32_t)i;
		((uint64_t *)(slots[i] + 0x20))[2] = 0x3330;
		((uint64_t *)(slots[i] + 0x20))[3] = 0x4440; // something else
	}
	facts = read_facts(&region, pointers, 2);
	CHECK_EQUAL(facts.count, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct slot_facts *slot = slot_facts_find(&facts, pointers[i]);

		CHECK(slot && slot->guard == 0x1000 + i && slot->in_original == (i == 1) &&
		      slot->stack_low == 0x10000 + i && slot->stack_high == 0x20000 + i);
		CHECK(slot && slot->left[2] == (i ? 0x3330 : 0) && slot->left[3] == 0);
	}
	CHECK(facts.guards_lost && facts.nobodys_count == 1 && facts.nobodys[0] == 0x1230);
	slot_facts_deinit(&facts);
}

static void test_places(void)
{
	const struct stable_layout layout = { .slot_stride = 2 * HS_PAGE_SIZE }, odd = { .slot_stride = 100 };

	CHECK(thread_slot_fits(&layout, 5, 10, 5) && thread_slot_fits(&layout, 5, 10, 8));
	CHECK(!thread_slot_fits(&layout, 5, 10, 4) && !thread_slot_fits(&layout, 5, 10, 9));
	CHECK(!thread_slot_fits(&layout, 5, 10, UINT32_MAX) && !thread_slot_fits(&layout, 0, 1, 0));
	CHECK(thread_slot_fits(&odd, 1, 10, 9) && !thread_slot_fits(&odd, 1, 10, 10) &&
	      !thread_slot_fits(&odd, 1, 10, 0));
}

static bool has_nobodys(const struct slot_facts_list *facts, uint64_t guard)
{
	for (size_t i = 0; i < facts->nobodys_count; i++)
		if (facts->nobodys[i] == guard)
			return true;
	return false;
}

// What coroutines have left whose thread is no more, in a slot that is nobody's or that nobody has taken yet, and what
// slots have forgotten.
static void test_nobodys(void)
{
	struct slot_facts_list facts;
	struct made_region region;
	uint64_t pointers[3];

	made_region_init(&region, 16);
	for (uint32_t i = 0; i < 3; i++) {
		struct shared_slot *slot = made_slot(&region, i);

		pointers[i] = slot->thread_pointer;
		slot->stack_low = slot->thread_pointer - 0x10000;
		slot->stack_high = slot->thread_pointer;
		slot->guard = 0x1000 + i;
		slot->left_count = 2;
		slot->left_guards[HS_LEFT_GUARDS - 1] = 0x2000 + i;
		slot->left_guards[0] = slot->stack_high - 8; // on its own stack: gone with it
		if (i == 2)
			slot->thread_pointer = HS_KEY_ENDED;
	}
	region.header->forgotten_guards[HS_FORGOTTEN_GUARDS - 1] = 0x3000;
	facts = read_facts(&region, pointers, 1); // the first one's thread lives
	CHECK_EQUAL(facts.count, 1);
	CHECK_EQUAL(facts.nobodys_count, 5);
	CHECK(has_nobodys(&facts, 0x1001) && has_nobodys(&facts, 0x1002) && has_nobodys(&facts, 0x2001) &&
	      has_nobodys(&facts, 0x2002));
	CHECK(has_nobodys(&facts, 0x3000));
	CHECK(!facts.guards_lost);
	slot_facts_deinit(&facts);
	made_slot(&region, 1)->thread_pointer |= HS_KEY_SHARED; // what stands there may be over
	region.header->guards_lost = 1;
	facts = read_facts(&region, pointers, 1);
	CHECK(facts.guards_lost);
	CHECK_EQUAL(facts.nobodys_count, 3);
	slot_facts_deinit(&facts);
	made_slot(&region, 1)->stack_high = 0; // nor can it be told from its own stack
	facts = read_facts(&region, pointers, 1);
	CHECK_EQUAL(facts.nobodys_count, 3);
	slot_facts_deinit(&facts);
	made_region_deinit(&region);
}

// Two threads of one pointer, the lowest, the highest or one between; and a slot that says itself that several threads
// had it.
static void test_several(void)
{
	for (size_t shared = 0; shared < SLOTS - 1; shared++)
		for (int by_key = 0; by_key < 2; by_key++) {
			struct slot_facts_list facts;
			struct made_region region;
			uint64_t pointers[SLOTS];

			made_region_init(&region, 16);
			for (uint32_t i = 0; i < SLOTS - 1; i++) {
				struct shared_slot *slot = made_slot(&region, i);

				pointers[i] = slot->thread_pointer;
				if (by_key && i == shared)
					slot->thread_pointer |= HS_KEY_SHARED;
			}
			pointers[SLOTS - 1] = by_key ? 0 : pointers[shared];
			facts = read_facts(&region, pointers, SLOTS);
			CHECK_EQUAL(facts.count, SLOTS - 1);
			for (size_t i = 0; i < SLOTS - 1; i++) {
				const struct slot_facts *slot = slot_facts_find(&facts, pointers[i]);

				CHECK(slot && slot->is_of_several == (i == shared));
				CHECK(slot && slot->has_several == (i == shared && !by_key));
			}
			slot_facts_deinit(&facts);
			made_region_deinit(&region);
		}
}

int main(void)
{
	test_places();
	test_facts();
	test_other_layout();
	test_nobodys();
	test_several();
	return CHECK_RESULT();
}
