// SPDX-License-Identifier: Apache-2.0
// Longer than 500 lines: the cases share one set of threads.
// Claiming slots, with control blocks made by hand: the kernel's thread id, and the words that describe the stack,
// somewhere in them.
enum { TCB_WORDS = 256, TID_WORD = 90, STACK_WORD = 200 };

#define PAYLOAD_CONFIG .tid_offset = TID_WORD * 8, .tcb_size = TCB_WORDS * 8

#include "check.h"
#include "payload_region.h"

#include "inject/hook/thread_slot.h"

// A thread's stack with its control block at the top, as pthread_create lays them out.
struct made_thread {
	uint8_t *stack;
	uint64_t size;   // of stack and control block
	uint64_t *block; // = the thread pointer
};

static struct made_region made;

static uint64_t pointer_of(const struct made_thread *thread) { return (uint64_t)thread->block; }

// From a call somewhere on its stack.
static struct thread_slot *claim_of(const struct made_thread *thread)
{
	return thread_slot_claim_at(pointer_of(thread), pointer_of(thread) - 5000);
}

static void set_tid(const struct made_thread *thread, uint32_t tid) { thread->block[TID_WORD] = tid; }

static void free_thread(struct made_thread *thread) { munmap(thread->stack, thread->size + HS_PAGE_SIZE); }

// With a slot at its own place: that of hash 0 is nobody's (test_nobodys).
static struct made_thread make_thread(uint32_t tid)
{
	struct made_thread thread = { .size = 1 << 20 };

	// Behind its last word is no access: who reads further dies.
	thread.stack =
		mmap(NULL, thread.size + HS_PAGE_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (thread.stack == MAP_FAILED || mprotect(thread.stack, thread.size, PROT_READ | PROT_WRITE) != 0)
		exit(1);
	thread.block = (uint64_t *)(thread.stack + thread.size) - TCB_WORDS;
	if (thread_slot_index(pointer_of(&thread)) == thread_slot_index(0)) {
		struct made_thread another = make_thread(tid); // elsewhere, as this one is still there

		free_thread(&thread);
		return another;
	}
	thread.block[0] = (uint64_t)thread.block;
	thread.block[STACK_WORD] = (uint64_t)thread.stack;
	thread.block[STACK_WORD + 1] = thread.size;
	set_tid(&thread, tid);
	return thread;
}

static const struct thread_record *history(uint32_t index)
{
	return (const struct thread_record *)(made.bytes + HS_OFFSET_THREADS) + index;
}

static bool is_marked(const struct thread_slot *slot)
{
	uint64_t index = (uint64_t)(slot - (const struct thread_slot *)(made.bytes + HS_OFFSET_SLOTS));

	return made.header->used_slots[index / 64] >> (index % 64) & 1;
}

static void test_claim(void)
{
	struct made_thread a, b;
	struct thread_slot *slot, *other;

	payload_region_init(&made, 200);
	a = make_thread(1001), b = make_thread(1002);
	slot = claim_of(&a);
	CHECK(slot != NULL);
	CHECK_EQUAL(slot->shared.thread_pointer, pointer_of(&a));
	CHECK_EQUAL(slot->mark, 1001);
	CHECK(is_marked(slot));
	CHECK(!is_marked(slot + 1));
	CHECK_EQUAL(slot->shared.stack_low, (uint64_t)a.stack);
	CHECK_EQUAL(slot->shared.stack_high, pointer_of(&a));
	CHECK_EQUAL(history(slot->thread)->tid, 1001);
	other = claim_of(&b);
	CHECK(other && other != slot && other->thread == slot->thread + 1);
	CHECK(claim_of(&a) == slot);
	CHECK_EQUAL(made.header->thread_count, 2);
	CHECK(!thread_slot_claim(0) && !thread_slot_claim(UINT64_C(0xffff800000001000)));

	// A new thread with the control block of one that has ended: another number, nothing under way, the free
	// records kept.
	slot->shared.guard = 5, slot->shared.in_original = 1, slot->shared.pending = 7, slot->shared.pending_new = 8,
	slot->walk_count = 9, slot->kept_generation = 1;
	slot->free_count = 3, slot->shared.counters[0] = 11;
	set_tid(&a, 1003);
	CHECK(claim_of(&a) == slot);
	CHECK_EQUAL(slot->mark, 1003);
	CHECK_EQUAL(slot->thread, 2);
	CHECK_EQUAL(history(2)->tid, 1003);
	CHECK(!slot->shared.guard && !slot->shared.in_original && !slot->shared.pending && !slot->shared.pending_new &&
	      !slot->walk_count && !slot->kept_generation);
	CHECK(slot->free_count == 3 && slot->shared.counters[0] == 11);
	free_thread(&a);
	free_thread(&b);
	payload_region_deinit(&made);
}

// Words that look like a stack and are none.
static void test_find_stack(void)
{
	struct made_thread thread;
	struct thread_slot *slot;
	uint32_t tid = 2000;
	uint64_t pointer;

	payload_region_init(&made, 1);
	thread = make_thread(tid);
	pointer = pointer_of(&thread);

#define EXPECT(low, high)                                                                                              \
	do {                                                                                                           \
		set_tid(&thread, ++tid);                                                                               \
		slot = claim_of(&thread);                                                                              \
		CHECK_EQUAL(slot->shared.stack_low, low);                                                              \
		CHECK_EQUAL(slot->shared.stack_high, high);                                                            \
	} while (0)

	thread.block[10] = pointer - 100000, thread.block[11] = 50000;       // ends below the control block
	thread.block[12] = 1000, thread.block[13] = UINT64_MAX;              // wraps
	thread.block[14] = pointer - 4096, thread.block[15] = 100;           // too small
	thread.block[16] = pointer + 4096, thread.block[17] = 8192;          // above
	thread.block[18] = 65536, thread.block[19] = pointer - 65536 + 4096; // nearly the whole address space
	thread.block[20] = pointer - 8192, thread.block[21] = 1 << 20;       // ends far above
	EXPECT((uint64_t)thread.stack, pointer);
	thread.block[STACK_WORD] = 0; // nowhere: unknown
	EXPECT(0, 0);
	// the last two words
	thread.block[TCB_WORDS - 2] = (uint64_t)thread.stack, thread.block[TCB_WORDS - 1] = thread.size;
	EXPECT((uint64_t)thread.stack, pointer);
	// its size would lie behind the block
	thread.block[TCB_WORDS - 2] = 0, thread.block[TCB_WORDS - 1] = (uint64_t)thread.stack;
	EXPECT(0, 0);
	free_thread(&thread);
	payload_region_deinit(&made);
}

static uint32_t *extra_pages(void) { return (uint32_t *)(made.bytes + HS_OFFSET_EXTRA_SLOTS); }

static struct thread_slot *slot_in_page(uint32_t page)
{
	return (struct thread_slot *)(made.bytes + (uint64_t)page * HS_PAGE_SIZE);
}

// All threads of a test have the same place, as far as the test is told.
static struct thread_slot *first_of(const struct made_thread *thread)
{
	return (struct thread_slot *)(made.bytes + HS_OFFSET_SLOTS) + thread_slot_index(pointer_of(thread));
}

// Another thread has the first slot: then one is made in pages, listed and chained; where there is no room, there is
// none.
static void test_chain(void)
{
	enum { PARTS = HS_THREAD_EXTRA_PART * HS_THREAD_SLOT_PAGES };
	struct made_thread thread;
	struct thread_slot *first, *second, *third;

	payload_region_init(&made, 2 * PARTS + 1);
	thread = make_thread(1);
	first = first_of(&thread);
	first->shared.thread_pointer = 0x7000; // somebody's
	second = claim_of(&thread);
	CHECK(second && second != first);
	CHECK_EQUAL(made.header->extra_slot_count, 1);
	CHECK(second == slot_in_page(extra_pages()[0]) && first->next == extra_pages()[0]);
	CHECK_EQUAL(second->shared.thread_pointer, pointer_of(&thread));
	CHECK(claim_of(&thread) == second);
	second->shared.thread_pointer = 0x8000;
	third = claim_of(&thread);
	CHECK(third && third == slot_in_page(extra_pages()[1]) && second->next == extra_pages()[1]);
	third->shared.thread_pointer = 0x9000;
	CHECK(!claim_of(&thread)); // two make up a quarter of the pages
	CHECK_EQUAL(made.header->extra_slot_count, 2);
	CHECK_EQUAL(made.header->thread_count, 2);
	second->shared.thread_pointer = HS_KEY_ENDED;
	CHECK(claim_of(&thread) == second && claim_of(&thread) == second);
	CHECK(second->next == extra_pages()[1]);
	free_thread(&thread);
	payload_region_deinit(&made);
}

// The slot where thread pointer 0 would be looked for is never anybody's: a call without a thread pointer would be
// taken for its owner's.
static void test_nobodys(void)
{
	const struct thread_slot *slots;
	struct made_thread thread;
	struct thread_slot *first, *slot;

	payload_region_init(&made, 200);
	thread = make_thread(1);
	slots = (const struct thread_slot *)(made.bytes + HS_OFFSET_SLOTS);
	CHECK_EQUAL(slots[thread_slot_index(0)].shared.thread_pointer, HS_KEY_NOBODYS); // since attach
	CHECK(!thread_key_is_taken(HS_KEY_NOBODYS));
	CHECK(!thread_slot_claim_at(0, pointer_of(&thread)));
	first = first_of(&thread);
	first->shared.thread_pointer = HS_KEY_NOBODYS; // as if the thread's hash were that of 0
	for (unsigned i = 0; i < 3; i++) {             // its first call, later ones, and as another thread
		slot = claim_of(&thread);
		CHECK(slot && slot == slot_in_page(first->next));
		CHECK_EQUAL(slot->shared.thread_pointer, pointer_of(&thread));
		CHECK_EQUAL(first->shared.thread_pointer, HS_KEY_NOBODYS);
		CHECK(first->mark == 0 && !is_marked(first));
		if (i == 1) {
			thread_slot_release(slot);
			set_tid(&thread, 2);
		}
	}
	CHECK_EQUAL(made.header->extra_slot_count, 1);
	free_thread(&thread);
	payload_region_deinit(&made);
}

// A thread gives its slot up, comes back, and finds all as it was; or another one has it, and its own is a fresh one.
static void test_release(void)
{
	struct made_thread a, b;
	struct thread_slot *slot;

	payload_region_init(&made, 100);
	a = make_thread(1), b = make_thread(2);
	slot = claim_of(&a);
	slot->shared.counters[0] = 5, slot->walk_count = 3, slot->free_count = 2;
	thread_slot_release(slot);
	CHECK_EQUAL(slot->shared.thread_pointer, pointer_of(&a) | HS_KEY_RELEASED);
	CHECK(!thread_key_is_taken(slot->shared.thread_pointer));
	CHECK(claim_of(&a) == slot);
	CHECK_EQUAL(slot->shared.thread_pointer, pointer_of(&a));
	CHECK(slot->shared.counters[0] == 5 && slot->walk_count == 3 && made.header->thread_count == 1);
	// A thread that has the same block.
	thread_slot_release(slot);
	set_tid(&a, 3);
	CHECK(claim_of(&a) == slot && slot->walk_count == 0 && slot->mark == 3 && made.header->thread_count == 2);
	// One of another.
	slot->last_freed = 77;
	thread_slot_release(slot);
	first_of(&b)->shared.thread_pointer = slot->shared.thread_pointer;
	slot = first_of(&b);
	slot->free_count = 2, slot->last_freed = 77;
	CHECK(claim_of(&b) == slot && slot->mark == 2 && slot->thread == 2 && slot->free_count == 2 &&
	      slot->last_freed == 0);
	// Not while a block is being reallocated, nor twice.
	slot->shared.pending = 1;
	thread_slot_release(slot);
	CHECK_EQUAL(slot->shared.thread_pointer, pointer_of(&b));
	free_thread(&a);
	free_thread(&b);
	payload_region_deinit(&made);
}

// What lies at a thread pointer is read only where it may be the libc's, and then not beyond its page.
static void test_foreign(void)
{
	struct made_thread thread;
	struct thread_slot *slot;
	uint64_t pointer, *edge;

	payload_region_init(&made, 100);
	thread = make_thread(7);
	pointer = pointer_of(&thread);
	edge = (uint64_t *)(thread.stack + thread.size) - 2; // two words, then no access
	edge[0] = (uint64_t)edge;
	slot = thread_slot_claim_at((uint64_t)edge, (uint64_t)edge - 5000);
	CHECK(slot && slot->shared.thread_pointer == ((uint64_t)edge | HS_KEY_FOREIGN) && !slot->shared.stack_high &&
	      slot->mark == 0);
	CHECK(thread_slot_claim_at((uint64_t)edge, (uint64_t)edge - 5000) == slot && made.header->thread_count == 1);

	// Nothing there at all; and where nothing is known of it.
	slot = thread_slot_claim_at(0x10000, pointer);
	CHECK(slot && slot->shared.thread_pointer == (0x10000 | HS_KEY_FOREIGN));
	slot = thread_slot_claim_at(pointer + (UINT64_C(1) << 46), pointer);
	CHECK(slot && slot->shared.thread_pointer & HS_KEY_FOREIGN);
	slot = thread_slot_claim_at(pointer + thread.size + 4, pointer); // no multiple of 8, and no access
	CHECK(slot && slot->shared.thread_pointer & HS_KEY_FOREIGN);

	// The libc's, first seen on another stack: it is recognised with the first call on its own, and stays so.
	slot = thread_slot_claim_at(pointer, pointer + 100);
	CHECK(slot && slot->shared.thread_pointer == (pointer | HS_KEY_FOREIGN) && slot->shared.stack_high == 0);
	CHECK(claim_of(&thread) == slot);
	CHECK(slot->shared.thread_pointer == pointer && slot->shared.stack_high == pointer && slot->mark == 7);
	CHECK(thread_slot_claim_at(pointer, pointer + 100) == slot && slot->shared.stack_high == pointer);
	set_tid(&thread, 8); // a successor's first call, on another stack
	CHECK(thread_slot_claim_at(pointer, pointer + 100) == slot && slot->mark == 8 &&
	      slot->shared.stack_high == pointer);

	// Its first word is something else's.
	thread_slot_release(slot);
	thread.block[0]++;
	slot->shared.thread_pointer = HS_KEY_ENDED;
	slot = claim_of(&thread);
	CHECK(slot && slot->shared.thread_pointer == (pointer | HS_KEY_FOREIGN));
	free_thread(&thread);
	payload_region_deinit(&made);
}

// What glibc's block begins with: its own address as the first word and as the third.
static void test_glibc_block(void)
{
	struct payload_config config = payload_header.config;
	struct made_thread thread;
	uint64_t pointer;

	payload_region_init(&made, 100);
	thread = make_thread(7);
	pointer = pointer_of(&thread);
	config.libc = LIBC_glibc;
	payload_configure(&config);
	thread.block[2] = pointer + 8; // a block of another kind, whose first word happens to be its address
	CHECK_EQUAL(claim_of(&thread)->shared.thread_pointer, pointer | HS_KEY_FOREIGN);
	thread.block[2] = pointer;
	CHECK_EQUAL(claim_of(&thread)->shared.thread_pointer, pointer);
	thread_slot_release(first_of(&thread));
	thread.block[2] = 0;
	config.libc = LIBC_unknown;
	payload_configure(&config);
	CHECK_EQUAL(claim_of(&thread)->shared.thread_pointer, pointer);
	free_thread(&thread);
	payload_region_deinit(&made);
}

// Two threads have one pointer: neither has a slot any more, and each call is counted.
static void test_shared(void)
{
	struct made_thread thread;
	struct thread_slot *slot;

	payload_region_init(&made, 100);
	thread = make_thread(7);
	slot = claim_of(&thread);
	thread_slot_note_shared(slot);
	CHECK(!claim_of(&thread));
	CHECK_EQUAL(made.header->lost_shared_pointer, 1);
	thread_slot_release(slot);
	CHECK(!claim_of(&thread));
	slot = thread_slot_claim(arch_thread_pointer());
	CHECK(slot != NULL);
	thread_slot_note_shared(slot);
	thread_slot_count_lost();
	CHECK_EQUAL(made.header->lost_shared_pointer, 3);
	slot->shared.thread_pointer = HS_KEY_ENDED;
	thread_slot_count_lost();
	CHECK_EQUAL(made.header->lost_no_slot, 1);
	free_thread(&thread);
	payload_region_deinit(&made);
}

// The history is full: later threads share its last entry, and the count stays.
static void test_full_history(void)
{
	struct made_thread thread;
	struct thread_slot *slot = NULL;

	payload_region_init(&made, 1);
	thread = make_thread(0);
	made.header->thread_count = HS_THREAD_HISTORY_MAX - 2;
	for (uint32_t i = 0; i < 5; i++) {
		set_tid(&thread, 5000 + i);
		slot = claim_of(&thread);
	}
	CHECK_EQUAL(slot->thread, HS_THREAD_HISTORY_MAX - 1);
	CHECK_EQUAL(made.header->thread_count, HS_THREAD_HISTORY_MAX);
	CHECK_EQUAL(history(HS_THREAD_HISTORY_MAX - 1)->tid, 5001);
	free_thread(&thread);
	payload_region_deinit(&made);
}

enum { THREADS = 4, EACH = 100 };

static struct made_thread threads[THREADS][EACH];
static struct thread_slot *claimed_slots[THREADS][EACH];

static void claim(unsigned number)
{
	for (unsigned i = 0; i < EACH; i++)
		claimed_slots[number][i] = claim_of(&threads[number][i]);
}

static void test_threads(void)
{
	static uint8_t seen[HS_THREAD_SLOTS + 20000], numbers[THREADS * EACH];
	int wrong = 0;

	payload_region_init(&made, 4000);
	for (unsigned number = 0; number < THREADS; number++)
		for (unsigned i = 0; i < EACH; i++)
			threads[number][i] = make_thread(10000 + number * EACH + i);
	run_together(THREADS, claim);
	for (unsigned number = 0; number < THREADS; number++) {
		for (unsigned i = 0; i < EACH; i++) {
			const struct thread_slot *slot = claimed_slots[number][i];
			struct made_thread *thread = &threads[number][i];

			if (!slot || slot->shared.thread_pointer != pointer_of(thread) ||
			    slot->shared.stack_low != (uint64_t)thread->stack || slot->thread >= THREADS * EACH ||
			    history(slot->thread)->tid != 10000 + number * EACH + i ||
			    seen[((uint64_t)slot - (uint64_t)made.bytes - HS_OFFSET_SLOTS) / sizeof(*slot)]++ ||
			    numbers[slot->thread]++)
				wrong++;
			free_thread(thread);
		}
	}
	CHECK_EQUAL(wrong, 0);
	CHECK_EQUAL(made.header->thread_count, THREADS * EACH);
	payload_region_deinit(&made);
}

enum { LIVES = 3000 };

static struct made_thread lives[THREADS];
static uint32_t wrong_lives[THREADS], unclaimed[THREADS];

// Threads that come and go at the same places, all in one chain: while a thread has a slot nobody else has it.
static void come_and_go(unsigned number)
{
	for (unsigned i = 0; i < LIVES; i++) {
		struct thread_slot *slot;

		set_tid(&lives[number], 100000 * (number + 1) + i / 3);
		slot = claim_of(&lives[number]);
		if (!slot) {
			unclaimed[number]++;
			continue;
		}
		__atomic_store_n(&slot->shared.guard, pointer_of(&lives[number]), __ATOMIC_RELAXED);
		slot->shared.counters[1]++;
		for (volatile unsigned wait = 0; wait < 20; wait++)
			;
		if (slot->mark != 100000 * (number + 1) + i / 3 || slot_key(slot) != pointer_of(&lives[number]) ||
		    __atomic_exchange_n(&slot->shared.guard, 0, __ATOMIC_RELAXED) != pointer_of(&lives[number]))
			wrong_lives[number]++;
		thread_slot_release(slot);
	}
}

static void test_lives(void)
{
	uint64_t calls = 0, slots = 0;
	uint32_t found = 0;

	payload_region_init(&made, 2000);
	// Places with the same hash: one after the other is tried.
	while (found < THREADS) {
		struct made_thread thread = make_thread(1);

		if (found && first_of(&thread) != first_of(&lives[0])) {
			// Of a large stack any part will do.
			uint64_t *block = thread.block;

			while (block > (uint64_t *)thread.stack + 1024 &&
			       thread_slot_index((uint64_t)block) != thread_slot_index(pointer_of(&lives[0])))
				block -= 8;
			if (block <= (uint64_t *)thread.stack + 1024 ||
			    ((uint64_t)block & (HS_PAGE_SIZE - 1)) > HS_PAGE_SIZE - TCB_WORDS * 8) {
				munmap(thread.stack, thread.size);
				continue;
			}
			thread.block = block;
			block[0] = (uint64_t)block;
			block[STACK_WORD] = (uint64_t)thread.stack;
			block[STACK_WORD + 1] = thread.size;
		}
		lives[found++] = thread;
	}
	run_together(THREADS, come_and_go);
	for (unsigned number = 0; number < THREADS; number++) {
		CHECK_EQUAL(wrong_lives[number], 0);
		CHECK_EQUAL(unclaimed[number], 0);
	}
	for (const struct thread_slot *slot = first_of(&lives[0]);; slot = slot_in_page(slot->next)) {
		calls += slot->shared.counters[1];
		slots++;
		if (!slot->next)
			break;
	}
	CHECK_EQUAL(calls, THREADS * LIVES);
	CHECK(slots <= THREADS && slots == made.header->extra_slot_count + 1);
	CHECK_EQUAL(made.header->lost_no_slot, 0);
	for (unsigned number = 0; number < THREADS; number++)
		free_thread(&lives[number]);
	payload_region_deinit(&made);
}

int main(void)
{
	test_claim();
	test_find_stack();
	test_chain();
	test_nobodys();
	test_glibc_block();
	test_release();
	test_foreign();
	test_shared();
	test_lives();
	test_full_history();
	test_threads();
	return CHECK_RESULT();
}
