// SPDX-License-Identifier: Apache-2.0
// Claiming slots, with control blocks made by hand: the kernel's thread id, and the words that describe the stack, somewhere in them.
enum { TCB_WORDS = 256, TID_WORD = 90, STACK_WORD = 200 };

#define PAYLOAD_CONFIG .tid_offset = TID_WORD * 8, .tcb_size = TCB_WORDS * 8

#include "check.h"
#include "payload_region.h"

#include "inject/thread_slot.h"

// A thread's stack with its control block at the top, as pthread_create lays them out.
struct made_thread {
	uint8_t *stack;
	uint64_t size;       // of stack and control block
	uint64_t *block;     // = the thread pointer
};

static struct made_region made;

static uint64_t pointer_of(const struct made_thread *thread) { return (uint64_t)thread->block; }

static void set_tid(const struct made_thread *thread, uint32_t tid) { thread->block[TID_WORD] = tid; }

static struct made_thread make_thread(uint32_t tid)
{
	struct made_thread thread = { .size = 1 << 20 };

	// Behind its last word is no access: who reads further dies.
	thread.stack = mmap(NULL, thread.size + HS_PAGE_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (thread.stack == MAP_FAILED || mprotect(thread.stack, thread.size, PROT_READ | PROT_WRITE) != 0)
		exit(1);
	thread.block = (uint64_t *)(thread.stack + thread.size) - TCB_WORDS;
	thread.block[0] = (uint64_t)thread.block;
	thread.block[STACK_WORD] = (uint64_t)thread.stack;
	thread.block[STACK_WORD + 1] = thread.size;
	set_tid(&thread, tid);
	return thread;
}

static void free_thread(struct made_thread *thread) { munmap(thread->stack, thread->size + HS_PAGE_SIZE); }

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

	payload_region_init(&made, 1);
	a = make_thread(1001), b = make_thread(1002);
	slot = thread_slot_claim(pointer_of(&a));
	CHECK(slot != NULL);
	CHECK_EQUAL(slot->thread_pointer, pointer_of(&a));
	CHECK_EQUAL(slot->mark, 1001);
	CHECK(is_marked(slot));
	CHECK(!is_marked(slot + 1));
	CHECK_EQUAL(slot->stack_low, (uint64_t)a.stack);
	CHECK_EQUAL(slot->stack_high, pointer_of(&a));
	CHECK_EQUAL(history(slot->thread)->tid, 1001);
	CHECK(history(slot->thread)->first_seen != 0);
	other = thread_slot_claim(pointer_of(&b));
	CHECK(other && other != slot && other->thread == slot->thread + 1);
	CHECK(thread_slot_claim(pointer_of(&a)) == slot);
	CHECK_EQUAL(made.header->thread_count, 2);
	CHECK(!thread_slot_claim(0));

	// A new thread with the control block of one that has ended: another number, nothing under way, the free records kept.
	slot->guard = 5, slot->in_original = 1, slot->pending = 7, slot->pending_new = 8, slot->walk_count = 9, slot->kept_generation = 1;
	slot->free_count = 3, slot->counters[0] = 11;
	set_tid(&a, 1003);
	CHECK(thread_slot_claim(pointer_of(&a)) == slot);
	CHECK_EQUAL(slot->mark, 1003);
	CHECK_EQUAL(slot->thread, 2);
	CHECK_EQUAL(history(2)->tid, 1003);
	CHECK(!slot->guard && !slot->in_original && !slot->pending && !slot->pending_new && !slot->walk_count && !slot->kept_generation);
	CHECK(slot->free_count == 3 && slot->counters[0] == 11);
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

#define EXPECT(low, high)                                                                          \
	do {                                                                                       \
		set_tid(&thread, ++tid);                                                           \
		slot = thread_slot_claim(pointer);                                                 \
		CHECK_EQUAL(slot->stack_low, low);                                                 \
		CHECK_EQUAL(slot->stack_high, high);                                               \
	} while (0)

	thread.block[10] = pointer - 100000, thread.block[11] = 50000; // ends below the control block
	thread.block[12] = 1000, thread.block[13] = UINT64_MAX;        // wraps
	thread.block[14] = pointer - 4096, thread.block[15] = 100;     // too small
	thread.block[16] = pointer + 4096, thread.block[17] = 8192;    // above
	thread.block[18] = 65536, thread.block[19] = pointer - 65536 + 4096; // nearly the whole address space
	thread.block[20] = pointer - 8192, thread.block[21] = 1 << 20; // ends far above
	EXPECT((uint64_t)thread.stack, pointer);
	thread.block[STACK_WORD] = 0; // nowhere: unknown
	EXPECT(0, 0);
	thread.block[TCB_WORDS - 2] = (uint64_t)thread.stack, thread.block[TCB_WORDS - 1] = thread.size; // the last two words
	EXPECT((uint64_t)thread.stack, pointer);
	thread.block[TCB_WORDS - 2] = 0, thread.block[TCB_WORDS - 1] = (uint64_t)thread.stack; // its size would lie behind the block
	EXPECT(0, 0);
	free_thread(&thread);
	payload_region_deinit(&made);
}

// Other threads have the slots from the first place on: all but the last that is tried, and that one too.
static void test_full(void)
{
	enum { PROBES = 64 };
	struct made_thread thread;
	struct thread_slot *slots;
	uint32_t claimed = 0, first;

	payload_region_init(&made, 1);
	slots = (struct thread_slot *)(made.bytes + HS_OFFSET_SLOTS);
	thread = make_thread(1);
	first = thread_slot_index(pointer_of(&thread));
	for (uint32_t i = 0; i < PROBES - 1; i++)
		slots[(first + i) & (HS_THREAD_SLOTS - 1)].thread_pointer = 8 + i;
	CHECK(thread_slot_claim(pointer_of(&thread)) == &slots[(first + PROBES - 1) & (HS_THREAD_SLOTS - 1)]);
	slots[(first + PROBES - 1) & (HS_THREAD_SLOTS - 1)].thread_pointer = 4;
	CHECK(!thread_slot_claim(pointer_of(&thread)));
	for (uint32_t i = 0; i < HS_THREAD_SLOTS; i++)
		claimed += slots[i].thread_pointer != 0;
	CHECK_EQUAL(claimed, PROBES);
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
		slot = thread_slot_claim(pointer_of(&thread));
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
	// Another may take the slot in between; then the thread asks again at its next call.
	for (unsigned i = 0; i < EACH; i++)
		for (unsigned calls = 0; !claimed_slots[number][i] && calls < THREADS; calls++)
			claimed_slots[number][i] = thread_slot_claim(pointer_of(&threads[number][i]));
}

static void test_threads(void)
{
	static uint8_t seen[HS_THREAD_SLOTS], numbers[THREADS * EACH];
	int wrong = 0;

	payload_region_init(&made, 1);
	for (unsigned number = 0; number < THREADS; number++)
		for (unsigned i = 0; i < EACH; i++)
			threads[number][i] = make_thread(10000 + number * EACH + i);
	run_together(THREADS, claim);
	for (unsigned number = 0; number < THREADS; number++) {
		for (unsigned i = 0; i < EACH; i++) {
			const struct thread_slot *slot = claimed_slots[number][i];
			struct made_thread *thread = &threads[number][i];

			if (!slot || slot->thread_pointer != pointer_of(thread) || slot->stack_low != (uint64_t)thread->stack ||
			    slot->thread >= THREADS * EACH || history(slot->thread)->tid != 10000 + number * EACH + i ||
			    seen[slot - (struct thread_slot *)(made.bytes + HS_OFFSET_SLOTS)]++ || numbers[slot->thread]++)
				wrong++;
			free_thread(thread);
		}
	}
	CHECK_EQUAL(wrong, 0);
	CHECK_EQUAL(made.header->thread_count, THREADS * EACH);
	payload_region_deinit(&made);
}

int main(void)
{
	test_claim();
	test_find_stack();
	test_full();
	test_full_history();
	test_threads();
	return CHECK_RESULT();
}
