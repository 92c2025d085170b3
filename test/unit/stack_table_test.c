// SPDX-License-Identifier: Apache-2.0
// The stack table: each frame below the same outer frames once, whoever comes first.
#include "check.h"
#include "payload_region.h"

#include "inject/table/stack_table.h"

static struct made_region made;

static const struct stack_node *node_at(uint32_t ref) { return made_ref(&made, ref); }

static void test_alone(void)
{
	struct thread_slot *slot;
	uint32_t a, b, below_a, below_b;

	payload_region_init(&made, 10);
	slot = (struct thread_slot *)made_slot(&made, 0);
	a = stack_table_node(slot, 0, made_frame(0x1000, 1));
	b = stack_table_node(slot, 0, made_frame(0x1000, 2));
	CHECK(a && b && a != b);
	CHECK_EQUAL(stack_table_node(slot, 0, made_frame(0x1000, 1)), a);
	below_a = stack_table_node(slot, a, made_frame(0x2000, 1));
	below_b = stack_table_node(slot, b, made_frame(0x2000, 1));
	CHECK(below_a != below_b);
	CHECK_EQUAL(node_at(below_a)->parent, a);
	CHECK_EQUAL(node_at(below_b)->frame, made_frame(0x2000, 1));
	CHECK_EQUAL(stack_table_node(slot, b, made_frame(0x2000, 1)), below_b);
	CHECK_EQUAL(made.header->next_page, made.header->first_page + 2); // one page of nodes
	CHECK(stack_table_full_node() < a);
	payload_region_deinit(&made);
}

// One frame below so many others that some of these nodes share a bucket.
static void test_same_frame(void)
{
	enum { PARENTS = 5000 };
	static uint32_t parents[PARENTS], nodes[PARENTS];
	struct thread_slot *slot;
	int wrong = 0;

	payload_region_init(&made, 100);
	slot = (struct thread_slot *)made_slot(&made, 0);
	for (uint32_t i = 0; i < PARENTS; i++) {
		parents[i] = stack_table_node(slot, 0, made_frame(0x1000 + i, 1));
		nodes[i] = stack_table_node(slot, parents[i], made_frame(0x500, 1));
	}
	for (uint32_t i = 0; i < PARENTS; i++)
		wrong += node_at(nodes[i])->parent != parents[i] ||
			 stack_table_node(slot, parents[i], made_frame(0x500, 1)) != nodes[i];
	CHECK_EQUAL(wrong, 0);
	payload_region_deinit(&made);
}

static void test_full(void)
{
	struct thread_slot *slot;
	uint32_t last = 0;

	payload_region_init(&made, 1 + 1);
	slot = (struct thread_slot *)made_slot(&made, 0);
	for (uint64_t i = 0; i < HS_PAGE_SIZE / sizeof(struct stack_node); i++)
		CHECK((last = stack_table_node(slot, 0, i)) != 0);
	CHECK_EQUAL(stack_table_node(slot, 0, 999), 0);
	// known ones are found still
	CHECK_EQUAL(stack_table_node(slot, 0, HS_PAGE_SIZE / sizeof(struct stack_node) - 1), last);
	payload_region_deinit(&made);
}

static uint32_t longest_chain(void)
{
	uint32_t longest = 0;

	for (uint32_t i = 0; i < HS_STACK_BUCKETS; i++) {
		uint32_t length = 0;

		for (uint32_t ref = made_buckets(&made)[i]; ref; ref = node_at(ref)->next)
			length++;
		longest = length > longest ? length : longest;
	}
	return longest;
}

static uint32_t pages_of_buckets(void)
{
	static const uint8_t zeros[HS_PAGE_SIZE];
	uint32_t count = 0;

	for (uint64_t offset = 0; offset < HS_STACK_BUCKETS * sizeof(uint32_t); offset += HS_PAGE_SIZE)
		count += memcmp(made.bytes + HS_OFFSET_BUCKETS + offset, zeros, sizeof(zeros)) != 0;
	return count;
}

// The nodes of a small program touch few pages; those of a large one have short chains.
static void test_sizes(void)
{
	enum { FEW = 5000, MANY = 300000 };
	const uint32_t first_pages = HS_STACK_BUCKETS_FIRST * sizeof(uint32_t) / HS_PAGE_SIZE;
	struct thread_slot *slot;

	payload_region_init(&made, 3000);
	slot = (struct thread_slot *)made_slot(&made, 0);
	for (uint32_t i = 0; i < FEW; i++)
		CHECK(stack_table_node(slot, 0, made_frame(0x400000 + i * 5, 1)) != 0);
	CHECK(pages_of_buckets() <= first_pages + 10); // of 272
	for (uint32_t i = FEW; i < MANY; i++)
		CHECK(stack_table_node(slot, 0, made_frame(0x400000 + i * 5, 1)) != 0);
	CHECK(longest_chain() <= 16);
	payload_region_deinit(&made);
}

enum { THREADS = 4, ROUNDS = 6, COMMON = 20000, OWN = 5000, DEPTH = 5 };

static uint32_t found[THREADS][COMMON], own[THREADS][OWN];
static unsigned differences[THREADS];

// The i-th stack: `DEPTH` frames, the outer ones shared by many.
static uint32_t walk(struct thread_slot *slot, uint64_t i, uint64_t module)
{
	uint32_t node = 0;

	for (unsigned depth = 0; depth < DEPTH; depth++)
		node = stack_table_node(slot, node, made_frame(0x400000 + (i >> 3 * (DEPTH - 1 - depth)), module));
	return node;
}

static void look_up(unsigned number)
{
	struct thread_slot *slot = (struct thread_slot *)made_slot(&made, number);

	for (unsigned round = 0; round < ROUNDS; round++) {
		for (uint32_t i = 0; i < COMMON; i++) {
			uint32_t ref = walk(slot, i, 1);

			differences[number] += !ref || (round && ref != found[number][i]);
			found[number][i] = ref;
			if (i >= OWN)
				continue;
			ref = walk(slot, i, 2 + number);
			differences[number] += !ref || (round && ref != own[number][i]);
			own[number][i] = ref;
		}
	}
}

struct pair {
	uint64_t frame;
	uint32_t parent, ref;
};

static struct pair *pairs;
static size_t pair_count;

static void note(uint32_t ref, const struct stack_node *node, void *context)
{
	(void)context;
	pairs[pair_count++] = (struct pair){ node->frame, node->parent, ref };
}

static int compare(const void *left, const void *right)
{
	const struct pair *a = left, *b = right;

	if (a->frame != b->frame)
		return a->frame < b->frame ? -1 : 1;
	return (a->parent > b->parent) - (a->parent < b->parent);
}

static void test_threads(void)
{
	struct table_view view;
	size_t doubles = 0, expected = 0;
	unsigned different = 0;

	payload_region_init(&made, 3000);
	run_together(THREADS, look_up);
	for (unsigned number = 0; number < THREADS; number++) {
		CHECK_EQUAL(differences[number], 0);
		for (uint32_t i = 0; i < COMMON; i++)
			different += found[number][i] != found[0][i];
	}
	CHECK_EQUAL(different, 0);

	pairs = calloc(3000 * (HS_PAGE_SIZE / 32), sizeof(*pairs));
	view = made_view(&made);
	table_visit_nodes(&view, note, NULL);
	CHECK_EQUAL(view.damaged, 0);
	qsort(pairs, pair_count, sizeof(*pairs), compare);
	for (size_t i = 1; i < pair_count; i++)
		doubles += compare(&pairs[i - 1], &pairs[i]) == 0;
	CHECK_EQUAL(doubles, 0);
	for (unsigned depth = 0; depth < DEPTH; depth++)
		expected += (COMMON - 1) / (1u << 3 * depth) + 1 + THREADS * ((OWN - 1) / (1u << 3 * depth) + 1);
	CHECK_EQUAL(pair_count, expected); // all, and no other
	free(pairs);
	payload_region_deinit(&made);
}

int main(void)
{
	test_alone();
	test_same_frame();
	test_full();
	test_sizes();
	test_threads();
	return CHECK_RESULT();
}
