// SPDX-License-Identifier: Apache-2.0
// Records of blocks: given back, shared in batches, taken again, by one thread and by four at a time.
#include "check.h"
#include "payload_region.h"

#include "inject/table/record.h"
#include "inject/table/stack_table.h"

enum { PAGE_RECORDS = HS_PAGE_SIZE / sizeof(struct block_record) };

static struct made_region made;

static void test_alone(void)
{
	struct thread_slot *slot;
	uint32_t taken[3 * PAGE_RECORDS];
	uint32_t fresh;

	payload_region_init(&made, 1 + 3);
	slot = (struct thread_slot *)made_slot(&made, 0);
	for (size_t i = 0; i < 3 * PAGE_RECORDS; i++) {
		taken[i] = record_take(slot);
		CHECK(taken[i] >= page_first_ref((uint32_t)made.header->first_page + 1) &&
		      taken[i] < page_first_ref((uint32_t)made.header->max_pages));
		// pages handed out one after the other, each used to its end
		CHECK(i == 0 || taken[i] == taken[i - 1] + 1);
	}
	CHECK_EQUAL(record_take(slot), 0); // full
	CHECK_EQUAL(record_take(slot), 0);
	CHECK_EQUAL(made.header->next_page, made.header->max_pages);

	record_give(slot, taken[5]);
	CHECK_EQUAL(record_take(slot), taken[5]); // the one that is in the cache
	for (size_t i = 0; i < 3 * PAGE_RECORDS; i++)
		record_give(slot, taken[i]);
	CHECK_EQUAL(slot->free_count, HS_FREE_KEPT);
	CHECK(made.header->free_batches & UINT32_MAX); // the others are for all
	fresh = slot->fresh_record;

	// Another thread gets those that were shared, and no more.
	slot = (struct thread_slot *)made_slot(&made, 1);
	for (size_t i = 0; i < 3 * PAGE_RECORDS - HS_FREE_KEPT; i++) {
		uint32_t ref = record_take(slot);

		CHECK(ref >= taken[0] && ref <= taken[3 * PAGE_RECORDS - 1]);
		CHECK(slot->free_count < HS_FREE_KEPT);
	}
	CHECK_EQUAL(record_take(slot), 0);
	CHECK_EQUAL(made.header->free_batches & UINT32_MAX, 0);
	CHECK_EQUAL(((struct thread_slot *)made_slot(&made, 0))->fresh_record, fresh);
	payload_region_deinit(&made);
}

// Which batch goes first: the oldest of the list, so that the latest stay.
static void test_share_oldest(void)
{
	struct thread_slot *slot;

	payload_region_init(&made, 1 + 2);
	slot = (struct thread_slot *)made_slot(&made, 0);
	for (uint32_t i = 0; i < HS_FREE_KEPT; i++)
		record_give(slot, page_first_ref((uint32_t)made.header->first_page) + i);
	CHECK_EQUAL(made.header->free_batches, 0);
	record_share_batch(slot);
	CHECK_EQUAL(slot->free_count, HS_FREE_KEPT - RECORD_BATCH);
	CHECK_EQUAL((uint32_t)made.header->free_batches, page_first_ref((uint32_t)made.header->first_page));
	CHECK_EQUAL(made.header->free_batches >> 32, 1); // the tag
	for (uint32_t i = 0; i < slot->free_count; i++)
		CHECK_EQUAL(slot->free_records[i],
			    page_first_ref((uint32_t)made.header->first_page) + RECORD_BATCH + i);
	payload_region_deinit(&made);
}

static void test_totals(void)
{
	struct thread_slot *slot;
	const struct stack_node *node, *temporary;
	uint32_t a = 0, b = 0;
	uint64_t objects = 0;

	payload_region_init(&made, 40);
	slot = (struct thread_slot *)made_slot(&made, 0);
	a = made_node(&made, 1, 1, 0);
	for (uint32_t i = 0; i < 2000; i++) { // a second stack in the same entry of the cache
		b = made_node(&made, 1, 1, 0);
		if (((a ^ a >> 7) & (HS_TOTALS_ENTRIES - 1)) == ((b ^ b >> 7) & (HS_TOTALS_ENTRIES - 1)))
			break;
	}
	totals_add(slot, a, 10);
	totals_add(slot, a, 20);
	node = made_ref(&made, a);
	CHECK_EQUAL(node->alloc_objects, 0); // still the thread's
	slot->shared.temporaries[totals_index(a)] = 7;
	totals_add(slot, b, 5);
	CHECK_EQUAL(slot->shared.temporaries[totals_index(a)], 0);
	temporary = made_ref(&made, stack_table_node(slot, a, (uint64_t)HS_FRAME_TEMPORARY << HS_FRAME_MODULE_SHIFT));
	CHECK_EQUAL(temporary->alloc_objects, 7 * HS_OBJECTS_ONE);
	CHECK_EQUAL(temporary->parent, a);
	CHECK_EQUAL(node->alloc_objects, 2 * HS_OBJECTS_ONE);
	CHECK_EQUAL(node->alloc_bytes, 30 * HS_BYTES_ONE);
	node = made_ref(&made, b);
	CHECK_EQUAL(node->alloc_objects, 0);
	for (size_t i = 0; i < HS_TOTALS_ENTRIES; i++) {
		objects += slot->shared.totals[i].stack ? slot->shared.totals[i].objects : 0;
		slot->shared.totals[i].objects = slot->shared.totals[i].stack ? UINT32_MAX : 0; // as many as fit
	}
	CHECK_EQUAL(objects, 1);
	totals_add(slot, b, 5);
	CHECK_EQUAL(node->alloc_objects, UINT32_MAX * HS_OBJECTS_ONE);
	CHECK_EQUAL(node->alloc_bytes, 5 * HS_BYTES_ONE);
	for (uint32_t i = 0; i < HS_TOTALS_ENTRIES; i++)
		totals_flush(slot, i);
	CHECK_EQUAL(node->alloc_objects, (UINT64_C(1) + UINT32_MAX) * HS_OBJECTS_ONE);
	CHECK_EQUAL(node->alloc_bytes, 10 * HS_BYTES_ONE);
	slot->fresh_node = 0;
	made.header->next_page = made.header->max_pages;
	temporaries_add_directly(slot, b, 5 * HS_OBJECTS_ONE); // no room for a node
	CHECK_EQUAL(slot->shared.counters[COUNTER_lost_temporaries], 5);
	payload_region_deinit(&made);
}

// While a dump copies entries and nodes, one after the other, nothing moves between the two: it would be seen twice, or
// not at all.
static void test_totals_during_dump(void)
{
	struct thread_slot *slot;
	const struct stack_node *nodes[2];
	struct totals_entry *entry;
	uint32_t a, b;

	payload_region_init(&made, 40);
	slot = (struct thread_slot *)made_slot(&made, 0);
	a = b = made_node(&made, 1, 1, 0);
	while (a == b || totals_index(a) != totals_index(b))
		b = made_node(&made, 1, 1, 0);
	nodes[0] = made_ref(&made, a), nodes[1] = made_ref(&made, b);
	entry = &slot->shared.totals[totals_index(a)];
	totals_add(slot, a, 10);
	made.header->removal_flags = REMOVAL_COUNTS_BLOOM; // no dump
	totals_add(slot, a, 20);
	made.header->removal_flags |= REMOVAL_LOGS;
	totals_add(slot, b, 5);
	CHECK(entry->stack == a && entry->objects == 2 && entry->bytes == 30);
	CHECK(nodes[0]->alloc_objects == 0 && nodes[0]->alloc_bytes == 0);
	CHECK(nodes[1]->alloc_objects == HS_OBJECTS_ONE && nodes[1]->alloc_bytes == 5 * HS_BYTES_ONE);
	totals_add(slot, a, 7);
	CHECK(entry->stack == a && entry->objects == 3 && entry->bytes == 37 && nodes[0]->alloc_objects == 0);
	entry->objects = UINT32_MAX; // as many as fit
	totals_add(slot, a, 1);
	CHECK(entry->objects == UINT32_MAX && entry->bytes == 37);
	CHECK(nodes[0]->alloc_objects == HS_OBJECTS_ONE && nodes[0]->alloc_bytes == HS_BYTES_ONE);
	made.header->removal_flags = 0;
	totals_add(slot, b, 5);
	CHECK(entry->stack == b && entry->objects == 1 && entry->bytes == 5);
	CHECK_EQUAL(nodes[0]->alloc_bytes, 38 * HS_BYTES_ONE);
	payload_region_deinit(&made);
}

// The log of a dump: blocks from before its cut, as many as there is room for; where one has moved, the block that it
// is now only if it was one, too.
static void test_log(void)
{
	enum { LIMIT = 4, GENERATION = 9 };
	struct log_entry *log;
	uint32_t older, older_too, younger;

	payload_region_init(&made, 40);
	log = (struct log_entry *)(made.bytes + HS_OFFSET_LOG);
	made.header->epoch = 2; // made_record's are of 1
	made.header->log_limit = LIMIT;
	made.header->log_taken = (uint64_t)GENERATION << 32;
	older = made_record(&made, 10, 0), older_too = made_record(&made, 20, 0), younger = made_record(&made, 30, 0);
	((struct block_record *)made_ref(&made, younger))->epoch = 2;
	removal_log(0x1000, younger, 0, 0);
	removal_log(0x1000, 0, 0, 0);
	CHECK_EQUAL((uint32_t)made.header->log_taken, 0);
	removal_log(0x1000, older, 0x2000, older_too);
	removal_log(0x1010, older, 0x2010, younger);
	CHECK_EQUAL((uint32_t)made.header->log_taken, 2);
	CHECK(log[0].address == 0x1000 && log[0].ref == older && log[0].new_address == 0x2000 &&
	      log[0].new_ref == older_too);
	CHECK(log[0].record.size == 10 && log[0].epoch == 2 && log[0].generation == GENERATION);
	CHECK(log[1].address == 0x1010 && log[1].ref == older && log[1].new_address == 0x2010 && log[1].new_ref == 0);
	log[LIMIT].ref = 77; // behind its end
	for (unsigned i = 2; i < LIMIT + 2; i++)
		removal_log(0x3000 + i, older_too, 0, 0);
	CHECK_EQUAL((uint32_t)made.header->log_taken, LIMIT + 2); // so that the dump sees it
	CHECK(log[LIMIT - 1].ref == older_too && log[LIMIT - 1].address == 0x3000 + LIMIT - 1);
	CHECK(log[LIMIT].ref == 77 && log[LIMIT].address == 0 && log[LIMIT + 1].ref == 0);
	payload_region_deinit(&made);
}

enum { THREADS = 4, ROUNDS = 4000, HELD = 700 };

static uint8_t *in_use; // by ref - first: how many threads have it
static uint64_t twice;
static uint32_t first_ref;
static uint32_t shared_stack;

// Each thread takes and gives in waves longer than what a thread keeps, so that batches circulate.
static void give_and_take(unsigned number)
{
	static uint32_t held[THREADS][HELD];
	struct thread_slot *slot = (struct thread_slot *)made_slot(&made, number);
	unsigned seed = number * 7919 + 1;

	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned count = (seed = seed * 1103515245 + 12345) >> 16;

		count = 1 + count % HELD;
		for (unsigned i = 0; i < count; i++) {
			uint32_t ref = held[number][i] = record_take(slot);

			if (!ref || __atomic_fetch_add(&in_use[ref - first_ref], 1, __ATOMIC_RELAXED) != 0)
				__atomic_fetch_add(&twice, 1, __ATOMIC_RELAXED);
			// The owner's plain stores. Atomic here, because a thread that takes a batch may still look at
			// the first eight bytes of a record that is in use again (record.c says what then), and the
			// thread sanitizer at both.
			__atomic_store_n(&((struct free_record *)region_ref(ref))->next, UINT32_MAX, __ATOMIC_RELAXED);
			__atomic_store_n(&((struct free_record *)region_ref(ref))->next_batch, UINT32_MAX,
					 __ATOMIC_RELAXED);
			totals_add(slot, shared_stack, 3);
		}
		for (unsigned i = 0; i < count; i++) {
			__atomic_fetch_sub(&in_use[held[number][i] - first_ref], 1, __ATOMIC_RELAXED);
			record_give(slot, held[number][i]);
		}
		__atomic_fetch_add(&made.header->counters[0], count, __ATOMIC_RELAXED);
		totals_flush(slot, totals_index(shared_stack));
	}
}

static void test_threads(void)
{
	const struct stack_node *node;
	uint64_t used;

	payload_region_init(&made, 2000);
	shared_stack = made_node(&made, 1, 1, 0);
	first_ref = page_first_ref((uint32_t)made.header->first_page);
	in_use = calloc(2000, PAGE_RECORDS);
	run_together(THREADS, give_and_take);
	CHECK_EQUAL(twice, 0);
	node = made_ref(&made, shared_stack);
	CHECK_EQUAL(node->alloc_objects, made.header->counters[0] * HS_OBJECTS_ONE);
	CHECK_EQUAL(node->alloc_bytes, 3 * made.header->counters[0] * HS_BYTES_ONE);
	// None is lost on the way round: at most what all held at one time, and what each keeps, was ever fresh.
	used = (made.header->next_page - made.header->first_page - 2) * PAGE_RECORDS;
	CHECK(used <= THREADS * (HELD + HS_FREE_KEPT + RECORD_BATCH + PAGE_RECORDS));
	free(in_use);
	payload_region_deinit(&made);
}

int main(void)
{
	test_alone();
	test_share_oldest();
	test_totals();
	test_totals_during_dump();
	test_log();
	test_threads();
	return CHECK_RESULT();
}
