// SPDX-License-Identifier: Apache-2.0
// Blocks of wide entries go while a dump copies: all that were there at the cut are in the copy, though there is only
// one thread; and what their entries have hidden, of which the release was not seen, is not shown because they have
// gone.
static struct payload_state_words {
	unsigned active, present;
} state = { 1, 1 };

#define PAYLOAD_CONFIG .state = (uint64_t)&state

#include "hook_calls.h"

#include "inject/hook/block_events.h"
#include "snapshot/copy/membarrier.h"
#include "snapshot/copy/running_copy.h"

// The dump's reads of what threads may change.
static void dump_reaches(const void *place);

#define __atomic_load_n(place, order) (dump_reaches(place), __atomic_load_n(place, order))
#include "../../snapshot/copy/racing_memory.c"
#undef __atomic_load_n

enum { BLOCKS = 300, STALE_SIZE = 40, OUTER_SIZE = 1000, WIDE_SIZE = 100, MOVED_SIZE = 30 };

#define HEAP UINT64_C(0x7f0000000000)

static struct made_region made;
static void (*while_copied)(void);

// The dump has its cut, and has copied nothing yet.
bool membarrier_run(void)
{
	while_copied();
	return true;
}

bool membarrier_exists(void) { return true; }

static uint64_t address_of(unsigned i) { return HEAP + i * UINT64_C(4096) + i % 4 * 16; }

static void allocate(uint64_t address, uint64_t size)
{
	const struct entry_frame frame = { .return_address = 0x1000 };

	record_allocation(thread_slot_current(), address, size, (struct choice){ .interval = 1 }, &frame);
}

static void give_back(uint64_t address)
{
	uint64_t place = 0;

	hook_before_free(address, (uint64_t)&place, free_island);
}

// To an address that had no block before.
static void move(unsigned i)
{
	const struct entry_frame frame = { .return_address = 0x1000 };
	struct thread_slot *slot = thread_slot_current();
	struct reallocation reallocation;

	CHECK_EQUAL(reentry_enter(slot, (uint64_t)&frame, realloc_island), OUTERMOST);
	reallocation_begin(slot, address_of(i), realloc_island, &reallocation);
	reallocation_finish(slot, &reallocation, address_of(i) + 2048, MOVED_SIZE, (struct choice){ .interval = 1 },
			    &frame);
	reentry_leave(slot);
}

struct shown {
	struct table_view *view;
	uint64_t stale, outer, wide, moved, others;
};

static void count_block(uint64_t address, uint32_t ref, const struct block_record *record, void *context)
{
	struct shown *shown = context;

	(void)ref;
	CHECK((address >> 12) >= HEAP >> 12 && (address - HEAP) >> 12 < BLOCKS);
	*(record->size == STALE_SIZE   ? &shown->stale
	  : record->size == OUTER_SIZE ? &shown->outer
	  : record->size == WIDE_SIZE  ? &shown->wide
	  : record->size == MOVED_SIZE ? &shown->moved
				       : &shown->others) += 1;
}

static void count_pending(const struct shared_slot *slot, void *context)
{
	struct shown *shown = context;

	if (slot->pending)
		count_block(slot->pending_address, slot->pending, table_record(shown->view, slot->pending), shown);
}

static struct shown dump(void (*meanwhile)(void))
{
	struct region_access access = {
		.layout = &region_layout_own, .size = made.size, .fd = payload_region_fd, .memory.fd = -1
	};
	struct running_cut cut;
	struct running_report report;
	struct table_copy copy;
	struct table_view view;
	struct shown shown = { .view = &view };
	enum running_obstacle obstacle;

	while_copied = meanwhile;
	CHECK(running_cut_open(&access, &cut, &obstacle) == NULL);
	CHECK(running_copy_take(&cut, &copy, &report, &obstacle) == NULL);
	CHECK_EQUAL(obstacle, OBSTACLE_none);
	table_view_init(&region_layout_own, copy.header, copy.bytes, copy.size, &view);
	view.grew = true;
	table_visit_blocks(&view, count_block, &shown);
	table_visit_slots(&view, count_pending, &shown);
	CHECK_EQUAL(view.damaged, 0);
	CHECK_EQUAL(shown.others, 0);
	table_copy_deinit(&copy);
	running_cut_close(&cut);
	return shown;
}

static void nothing(void) {}

static void release_all(void)
{
	for (unsigned i = 0; i < BLOCKS; i++)
		give_back(address_of(i));
}

static void move_all(void)
{
	for (unsigned i = 0; i < BLOCKS; i++)
		move(i);
}

static void release_moved(void)
{
	for (unsigned i = 0; i < BLOCKS; i++)
		give_back(address_of(i) + 2048);
}

static void test_hidden(void)
{
	struct shown shown;

	for (unsigned i = 0; i < BLOCKS; i++) {
		allocate(address_of(i), STALE_SIZE);
		allocate(address_of(i), WIDE_SIZE);
	}
	shown = dump(nothing);
	CHECK(shown.wide == BLOCKS && shown.stale == 0 && shown.moved == 0);
	shown = dump(release_all);
	CHECK(shown.wide == BLOCKS && shown.stale == 0 && shown.moved == 0);
	shown = dump(nothing);
	CHECK(shown.wide == 0 && shown.stale == BLOCKS && shown.moved == 0);

	// An address that a reallocation gives back may be another's at the cut: for as many as there are threads, what
	// was hidden is taken for that.
	for (unsigned i = 0; i < BLOCKS; i++)
		allocate(address_of(i), WIDE_SIZE);
	shown = dump(move_all);
	CHECK(shown.wide == BLOCKS && shown.stale <= 1 && shown.moved == 0);
	shown = dump(release_moved);
	CHECK(shown.wide == 0 && shown.stale == BLOCKS && shown.moved == BLOCKS);
	for (unsigned i = 0; i < BLOCKS; i++)
		give_back(address_of(i));
	shown = dump(nothing);
	CHECK(shown.wide == 0 && shown.stale == 0 && shown.moved == 0);
}

static void release_inner_first(void)
{
	for (unsigned i = 0; i < BLOCKS; i++) {
		give_back(HEAP + i * UINT64_C(4096) + 16);
		give_back(HEAP + i * UINT64_C(4096));
	}
}

static void release_outer_first(void)
{
	for (unsigned i = 0; i < BLOCKS; i++) {
		give_back(HEAP + i * UINT64_C(4096));
		give_back(HEAP + i * UINT64_C(4096) + 16);
	}
}

// Blocks that begin in the piece of one that is around them.
static void test_overlapping(void)
{
	static void (*const releases[])(void) = { release_inner_first, release_outer_first };
	struct shown shown;

	for (unsigned order = 0; order < 2; order++) {
		for (unsigned i = 0; i < BLOCKS; i++) {
			allocate(HEAP + i * UINT64_C(4096), OUTER_SIZE);
			allocate(HEAP + i * UINT64_C(4096) + 16, WIDE_SIZE);
		}
		shown = dump(releases[order]);
		CHECK(shown.outer == BLOCKS && shown.wide == BLOCKS && shown.stale == 0);
		shown = dump(nothing);
		CHECK(shown.outer == 0 && shown.wide == 0 && shown.stale == 0);
	}
}

static uint32_t *watched_entry; // NULL = none
static unsigned entry_reads;
static void (*at_second_look)(void);

// The dump reads an entry to copy it, and once more to see whether it still says what it has copied.
static void dump_reaches(const void *place)
{
	const uint32_t *entry = watched_entry;

	if (!entry || (uint64_t)place % HS_PAGE_SIZE != (uint64_t)entry % HS_PAGE_SIZE ||
	    *(const uint32_t *)place != *entry || ++entry_reads == 1)
		return;
	watched_entry = NULL;
	at_second_look();
}

// A dump of one block, with something that happens just before it is looked at again.
static struct shown dump_and_look(void (*meanwhile)(void))
{
	struct shown shown;

	allocate(HEAP, WIDE_SIZE);
	watched_entry = live_table_find_wide(HEAP);
	entry_reads = 0;
	at_second_look = meanwhile;
	shown = dump(nothing);
	CHECK(!watched_entry);
	return shown;
}

static uint32_t successor; // a record

// Now the entry shows another address of the same piece, by a record from before the cut, as of a call that was under
// way then.
static void take_entry(void)
{
	uint32_t *entry = live_table_find_wide(HEAP);

	give_back(HEAP);
	*entry = wide_entry(HEAP + 16, successor);
}

// The entry's block at the cut is in the copy, by the log. The one that came after it is at another address: it is not
// taken for the first one.
static void test_successor(void)
{
	struct shown shown;

	successor = record_take(thread_slot_current());
	*(struct block_record *)made_ref(&made, successor) =
		(struct block_record){ .size = OUTER_SIZE, .interval = 1, .epoch = made.header->epoch };
	shown = dump_and_look(take_entry);
	CHECK(shown.wide == 1 && shown.outer == 0);
	shown = dump(nothing);
	CHECK(shown.wide == 0 && shown.outer == 1);
	give_back(HEAP + 16);
}

// A thread that came after the slots were copied is in the middle of reallocating the block, which is in no entry any
// more.
static void begin_in_new_thread(void)
{
	struct thread_slot *slot = (struct thread_slot *)made_slot(&made, 77);
	uint32_t *entry = live_table_find_wide(HEAP);

	slot->shared.pending_count = 1;
	slot->shared.pending_address = HEAP;
	slot->shared.pending = wide_entry_ref(*entry);
	*entry = 0;
}

static void test_new_thread(void)
{
	struct thread_slot *slot = (struct thread_slot *)(made.bytes + HS_OFFSET_SLOTS) + 77;
	struct shown shown = dump_and_look(begin_in_new_thread);

	CHECK_EQUAL(shown.wide, 1);
	record_give(thread_slot_current(), slot->shared.pending);
	memset(slot, 0, offsetof(struct thread_slot, walk));
	shown = dump(nothing);
	CHECK_EQUAL(shown.wide, 0);
}

// By a thread without a slot: it shares its thread pointer with another one.
static void release_unseen(void)
{
	struct thread_slot *slot = thread_slot_current();
	uint64_t key = slot->shared.thread_pointer;

	thread_slot_note_shared(slot);
	CHECK(!thread_slot_current());
	release_all();
	slot->shared.thread_pointer = key;
}

static void test_unseen(void)
{
	struct shown shown;

	for (unsigned i = 0; i < BLOCKS; i++)
		allocate(address_of(i), WIDE_SIZE);
	shown = dump(release_unseen);
	CHECK_EQUAL(shown.wide, BLOCKS);
	shown = dump(nothing);
	CHECK_EQUAL(shown.wide, 0);
}

static void come_and_go(void)
{
	for (unsigned i = 0; i < BLOCKS; i++) {
		allocate(address_of(i), WIDE_SIZE);
		give_back(address_of(i));
	}
}

// A record may serve a younger block between the log's look at its epoch and the copy that it makes of it.
static void log_younger_record(void)
{
	uint64_t taken = made.header->log_taken++;
	struct log_entry *entry = (struct log_entry *)(made.bytes + HS_OFFSET_LOG) + (uint32_t)taken;

	*entry = (struct log_entry){ .address = HEAP,
				     .ref = successor,
				     .epoch = made.header->epoch,
				     .generation = (uint32_t)(taken >> 32),
				     .record = { .size = OUTER_SIZE, .interval = 1, .epoch = made.header->epoch } };
}

// Blocks that came after the cut are not in the copy, whether they go meanwhile or not, and whatever the log says.
static void test_younger(void)
{
	struct shown shown = dump(come_and_go);

	CHECK(shown.wide == 0 && shown.stale == 0);
	successor = record_take(thread_slot_current());
	shown = dump(log_younger_record);
	CHECK_EQUAL(shown.outer, 0);
	record_give(thread_slot_current(), successor);
}

int main(void)
{
	payload_region_share();
	payload_region_init(&made, 8000);
	make_islands();
	CHECK(thread_slot_claim(arch_thread_pointer()));
	thread_slot_current()->shared.interval = 1;
	test_hidden();
	test_overlapping();
	test_successor();
	test_new_thread();
	test_unseen();
	test_younger();
	return CHECK_RESULT();
}
