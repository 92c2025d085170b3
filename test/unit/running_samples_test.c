// SPDX-License-Identifier: Apache-2.0
// More samples of one bucket than it has entries, so that some are in the live table, go while a dump copies: all that
// were there at the cut are in the copy, whatever room its bucket has, and however few threads there are.
static struct payload_state_words {
	unsigned active, present;
} state = { 1, 1 };

#define PAYLOAD_CONFIG .state = (uint64_t)&state

#include "hook_calls.h"

#include "inject/hook/block_events.h"
#include "snapshot/copy/membarrier.h"
#include "snapshot/copy/running_copy.h"

enum { SAMPLES = HS_SAMPLE_BUCKET_ENTRIES + 10, BUCKET = 77 };

static struct made_region made;
static uint64_t addresses[SAMPLES];
static bool last_first; // in which order they go

static void release_all(void)
{
	uint64_t place = 0;

	for (unsigned i = 0; i < SAMPLES; i++)
		hook_before_free(addresses[last_first ? SAMPLES - 1 - i : i], (uint64_t)&place, free_island);
}

static void (*while_copied)(void) = release_all;

// The dump has its cut, and has copied nothing yet.
bool membarrier_run(void)
{
	while_copied();
	return true;
}

bool membarrier_exists(void) { return true; }

static void count_block(uint64_t address, uint32_t ref, const struct block_record *record, void *context)
{
	uint64_t *found = context;

	(void)ref;
	for (unsigned i = 0; i < SAMPLES; i++)
		if (addresses[i] == address && record->size == 100 + i)
			*found += UINT64_C(1) << (2 * i); // so that two of one are not taken for one of each
}

static void count_pending(const struct shared_slot *slot, void *context)
{
	if (slot->pending)
		count_block(slot->pending_address, slot->pending,
			    (const struct block_record *)made_ref(&made, slot->pending), context);
}

static void dump_while_they_go(void)
{
	struct region_access access = {
		.layout = &region_layout_own, .size = made.size, .fd = payload_region_fd, .memory.fd = -1
	};
	struct entry_frame frame = { .return_address = 0x1000 };
	struct running_cut cut;
	struct running_report report;
	struct table_copy copy;
	struct table_view view;
	enum running_obstacle obstacle;
	uint64_t found = 0, all = 0;
	unsigned in_live_table = 0;

	for (unsigned i = 0; i < SAMPLES; i++) {
		addresses[i] = sample_address(BUCKET, sample_entry(1000 + i, 1));
		record_allocation(thread_slot_current(), addresses[i], 100 + i, (struct choice){ .interval = 4096 },
				  &frame);
		in_live_table += block_place_find(addresses[i]).kind != PLACE_sample;
		all += UINT64_C(1) << (2 * i);
	}
	CHECK_EQUAL(in_live_table, SAMPLES - HS_SAMPLE_BUCKET_ENTRIES);
	CHECK(running_cut_open(&access, &cut, &obstacle) == NULL);
	CHECK_EQUAL(obstacle, OBSTACLE_none);
	CHECK(running_copy_take(&cut, &copy, &report, &obstacle) == NULL);
	CHECK_EQUAL(obstacle, OBSTACLE_none);
	CHECK_EQUAL(report.log_records, SAMPLES);
	table_view_init(&region_layout_own, copy.header, copy.bytes, copy.size, &view);
	view.grew = true;
	table_visit_blocks(&view, count_block, &found);
	table_visit_slots(&view, count_pending, &found);
	CHECK_EQUAL(found, all);
	CHECK_EQUAL(view.damaged, 0);
	table_copy_deinit(&copy);
	running_cut_close(&cut);
}

static void put_twice(void)
{
	uint64_t *entries = (uint64_t *)(made.bytes + HS_OFFSET_SAMPLES) + (uint64_t)BUCKET * HS_SAMPLE_BUCKET_ENTRIES;

	entries[9] = entries[3];
}

// A failed reallocation puts a sample back into another entry than it was in: the dump may see it in both, each time as
// it was at the cut. It is one.
static void test_moved(void)
{
	struct region_access access = {
		.layout = &region_layout_own, .size = made.size, .fd = payload_region_fd, .memory.fd = -1
	};
	struct entry_frame frame = { .return_address = 0x1000 };
	struct running_cut cut;
	struct running_report report;
	struct table_copy copy;
	struct table_view view;
	enum running_obstacle obstacle;
	uint64_t found = 0;

	for (unsigned i = 0; i < 5; i++) {
		addresses[i] = sample_address(BUCKET, sample_entry(1000 + i, 1));
		record_allocation(thread_slot_current(), addresses[i], 100 + i, (struct choice){ .interval = 4096 },
				  &frame);
	}
	while_copied = put_twice;
	CHECK(running_cut_open(&access, &cut, &obstacle) == NULL);
	CHECK(running_copy_take(&cut, &copy, &report, &obstacle) == NULL);
	table_view_init(&region_layout_own, copy.header, copy.bytes, copy.size, &view);
	table_visit_blocks(&view, count_block, &found);
	CHECK_EQUAL(found, 0x155); // each of the five once
	CHECK_EQUAL(view.damaged, 0);
	table_copy_deinit(&copy);
	running_cut_close(&cut);
}

int main(void)
{
	payload_region_share();
	payload_region_init(&made, 8000);
	make_islands();
	CHECK(thread_slot_claim(arch_thread_pointer()));
	for (int order = 0; order < 2; order++) {
		last_first = order != 0;
		dump_while_they_go();
	}
	test_moved();
	return CHECK_RESULT();
}
