// SPDX-License-Identifier: Apache-2.0
// Finding a thread's stack in musl's control block: start and size of the memory mapped for it, end and size of the
// stack itself.
enum { TCB_SIZE = 128, TID_WORD = 6, MAP_WORD = 9 }; // struct pthread of musl 1.2.3

#define PAYLOAD_CONFIG                                                                                                 \
	.libc = LIBC_musl, .tid_offset = TID_WORD * 8, .tcb_size = TCB_SIZE, .main_thread_pointer = 8, .main_tid = 77

#include "check.h"
#include "payload_region.h"

#include "inject/hook/thread_slot.h"

#define PAGE ((uint64_t)HS_PAGE_SIZE)

static const struct {
	const char *what;
	// As differences: `memory` and `end` from the thread pointer, 0 = the word is 0. The block is the last thing
	// that can be read.
	uint64_t memory, memory_size, end, size;
	bool found;
} cases[] = {
	{ "mapped by pthread_create", 25 * PAGE - TCB_SIZE, 26 * PAGE, 848, 20 * PAGE, true },
	{ "given, the block at its end", 0, 20 * PAGE, 1024, 20 * PAGE - 1152, true },
	{ "given, the block in memory of its own", PAGE - TCB_SIZE, PAGE, 1 << 30, 4 * PAGE, true },
	{ "memory that ends below the block", 25 * PAGE - TCB_SIZE, 24 * PAGE, 848, 20 * PAGE, false },
	{ "memory that begins above it", (uint64_t)-TCB_SIZE, 9 * PAGE, 848, 2 * PAGE, false },
	{ "memory of no whole pages", 25 * PAGE, 26 * PAGE, 848, 20 * PAGE, false },
	{ "a size of no whole pages", 25 * PAGE - TCB_SIZE, 26 * PAGE + 8, 848, 20 * PAGE, false },
	{ "a stack that wraps", 25 * PAGE - TCB_SIZE, 26 * PAGE, 848, UINT64_MAX - PAGE, false },
	{ "a stack too small", 25 * PAGE - TCB_SIZE, 26 * PAGE, 848, 2047, false },
	{ "a stack too large", 25 * PAGE - TCB_SIZE, 26 * PAGE, 848, UINT64_C(1) << 41, false },
	{ "no stack", 25 * PAGE - TCB_SIZE, 26 * PAGE, 0, 0, false },
	{ "given, larger than what was given", 0, 20 * PAGE, 1024, 20 * PAGE + 1, false },
	{ "given, much smaller", 0, 60 * PAGE, 1024, 20 * PAGE, false },
	{ "given, above the block", 0, 20 * PAGE, (uint64_t)-8, 20 * PAGE - 1152, false },
	{ "given, far below the block", 0, 20 * PAGE, 65544, 20 * PAGE - 1152, false },
	{ "nothing at all", 0, 0, 0, 0, false },
};

// Pages behind which is no access: who reads further dies. Of many, one for a block whose pointer has a slot with a
// place of its own, and one for a block whose pointer has the hash of 0, and none.
static uint64_t *find_block(bool has_place)
{
	enum { PLACES = 1 << 16 };
	uint8_t *pages = mmap(NULL, 2 * PLACES * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	for (uint64_t i = 0; i < PLACES && pages != MAP_FAILED; i++) {
		uint8_t *page = pages + 2 * i * PAGE, *block = page + PAGE - TCB_SIZE;

		if ((thread_slot_index((uint64_t)block) != thread_slot_index(0)) == has_place &&
		    mprotect(page, PAGE, PROT_READ | PROT_WRITE) == 0)
			return (uint64_t *)block;
	}
	fprintf(stderr, "no place for a control block\n");
	exit(1);
}

static void test_cases(bool has_place)
{
	struct made_region made;
	uint64_t *block = find_block(has_place), pointer = (uint64_t)block;

	// room for one slot more
	payload_region_init(&made, (uint64_t)HS_THREAD_EXTRA_PART * HS_THREAD_SLOT_PAGES + 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t end = cases[i].end ? pointer - cases[i].end : 0;
		struct thread_slot *slot;

		memset(block, 0, TCB_SIZE);
		block[0] = pointer;
		block[2] = block[3] = pointer; // the list of threads: itself
		block[5] = UINT64_C(0xa5a5a5a5a5a5a500);
		block[TID_WORD] = 100 + i;
		block[MAP_WORD] = cases[i].memory ? pointer - cases[i].memory : 0;
		block[MAP_WORD + 1] = cases[i].memory_size;
		block[MAP_WORD + 2] = end;
		block[MAP_WORD + 3] = cases[i].size;
		slot = thread_slot_claim_at(pointer, pointer - 4096);
		CHECK(slot != NULL);
		if (!slot)
			continue;
		if (slot->shared.stack_high != (cases[i].found ? end : 0))
			fprintf(stderr, "%s:\n", cases[i].what);
		CHECK_EQUAL(slot->mark, 100 + i);
		CHECK_EQUAL(slot->shared.stack_low, cases[i].found ? end - cases[i].size : 0);
		CHECK_EQUAL(slot->shared.stack_high, cases[i].found ? end : 0);
	}
	CHECK_EQUAL(made.header->extra_slot_count, has_place ? 0 : 1);
	payload_region_deinit(&made);
}

int main(void)
{
	test_cases(true);
	test_cases(false);
	return CHECK_RESULT();
}
