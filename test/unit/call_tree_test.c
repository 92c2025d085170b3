// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include "hand_service.h"
#include "views/call_tree.h"

// A line a node: as many dots as it is deep, name, own and cumulative live bytes.
static void write_tree(const struct call_tree *tree, char *text, size_t room)
{
	size_t at = 0;

	for (size_t i = 0; i < tree->count && at < room; i++) {
		const struct tree_node *node = &tree->nodes[i];

		at += (size_t)snprintf(text + at, room - at, "%.*s%s %" PRId64 " %" PRId64 "%s", (int)node->depth,
				       "..........", call_tree_text(tree, node).name, node->values.live_bytes,
				       node->cumulative.live_bytes, node->is_cut ? " cut" : "");
		if (node->is_rest && at < room)
			at += (size_t)snprintf(text + at, room - at, " x%u", node->rest_count);
		if (at < room)
			at += (size_t)snprintf(text + at, room - at, "\n");
	}
}

static const struct {
	struct tree_options options;
	const char *expected;
} cases[] = {
	{ { .unit = UNIT_FUNCTION },
	  "[all] 0 216\n"
	  ".main 0 210\n"
	  "..serve 20 178\n"
	  "...Cache::put 50 150\n"
	  "....vector::push_back 100 100\n"
	  "...main 0 8\n"
	  "....serve 8 8\n"
	  "..libz.so+0x2010 30 30\n"
	  "..serve 2 2\n"
	  ".malloc 4 4\n"
	  ".[stack unknown] 2 2\n" },
	{ { .unit = UNIT_LINE, .is_from_leaf = true, .limit = 3 },
	  "[all] 0 216\n"
	  ".vector::push_back 0 100\n"
	  "..Cache::put 0 100\n"
	  "...serve 0 100\n"
	  "....main 100 100\n"
	  ".Cache::put 0 50\n"
	  "..serve 0 50\n"
	  "...main 50 50\n"
	  ".libz.so+0x2010 0 30\n"
	  "..main 30 30\n"
	  ".[others] 0 36 x4\n" },
	{ { .unit = UNIT_FUNCTION, .depth_limit = 2, .order = ORDER_ALLOCATED },
	  "[all] 0 216\n"
	  ".main 0 210\n"
	  "..serve 20 178 cut\n"
	  "..libz.so+0x2010 30 30\n"
	  "..serve 2 2\n"
	  ".malloc 4 4\n"
	  ".[stack unknown] 2 2\n" },
	{ { .unit = UNIT_MODULE, .share_least = 0.1 },
	  "[all] 0 216\n"
	  ".app 180 210\n" // a module that calls itself is one
	  "..libz.so 30 30\n"
	  ".[others] 0 6 x2\n" },
	{ { .unit = UNIT_FUNCTION, .order = ORDER_NAME, .share_least = 0.1, .hidden = 1U << FRAME_CONTAINER },
	  "[all] 0 216\n"
	  ".main 0 210\n"
	  "..libz.so+0x2010 30 30\n"
	  "..serve 20 178\n"
	  "...Cache::put 150 150\n"
	  "...[others] 0 8 x1\n"
	  "..[others] 0 2 x1\n"
	  ".[others] 0 6 x2\n" },
	{ { .unit = UNIT_FUNCTION, .order = ORDER_ERROR, .limit = 1 },
	  "[all] 0 216\n"
	  ".main 0 210\n"
	  "..libz.so+0x2010 30 30\n"
	  "..[others] 0 180 x2\n"
	  ".[others] 0 6 x2\n" },
};

static void test_cases(const struct hand_profile *hand)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct call_tree tree;
		char text[2000];

		CHECK(!call_tree_make(&hand->named, &cases[i].options, &tree));
		write_tree(&tree, text, sizeof(text));
		CHECK_STRING(text, cases[i].expected);
		call_tree_deinit(&tree);
	}
}

static void test_nodes(const struct hand_profile *hand)
{
	static const uint32_t parents[] = { TREE_NO_PARENT, 0, 1, 2, 3, 2, 5, 1, 1, 0, 0 };
	struct call_tree tree;

	CHECK(!call_tree_make(&hand->named, &(struct tree_options){ .unit = UNIT_FUNCTION }, &tree));
	CHECK_EQUAL(tree.count, sizeof(parents) / sizeof(parents[0]));
	for (size_t i = 0; i < tree.count && i < sizeof(parents) / sizeof(parents[0]); i++)
		CHECK_EQUAL(tree.nodes[i].parent, parents[i]);
	CHECK_EQUAL(tree.nodes[0].cumulative.live_bytes_variance, 3800);
	CHECK_EQUAL(tree.nodes[2].cumulative.live_bytes_variance, 1300);
	CHECK_EQUAL(tree.nodes[3].values.live_bytes_variance, 400);
	CHECK_STRING(call_tree_text(&tree, &tree.nodes[3]).file, "cache.cpp");
	CHECK_STRING(call_tree_text(&tree, &tree.nodes[0]).file, "");
	call_tree_deinit(&tree);
}

static void test_kept(const struct hand_profile *hand)
{
	static const bool kept[SERVICE_SAMPLES] = { [3] = true, [6] = true };
	struct call_tree tree;
	char text[1000];

	CHECK(!call_tree_make(&hand->named, &(struct tree_options){ .unit = UNIT_FUNCTION, .kept = kept }, &tree));
	write_tree(&tree, text, sizeof(text));
	CHECK_STRING(text, "[all] 0 32\n.main 0 30\n..libz.so+0x2010 30 30\n.[stack unknown] 2 2\n");
	call_tree_deinit(&tree);
}

// What cancels out below a node does not hide it.
static void test_signs(void)
{
	static const struct hand_sample changes[] = { { "adf", -100, -1, 0, 0, 0 },
						      { "agf", 100, 1, 0, 0, 0 },
						      { "ae", 30, 1, 0, 0, 0 } };
	struct hand_profile hand;
	struct call_tree tree;
	char text[1000];

	hand_make(&hand, service_places, SERVICE_PLACES, changes, 3, 0x10000);
	CHECK(!call_tree_make(&hand.named, &(struct tree_options){ .share_least = 0.3 }, &tree));
	write_tree(&tree, text, sizeof(text));
	CHECK_STRING(text, "[all] 0 30\n.main 0 0\n..Cache::put -100 -100\n..libz.so+0x2010 100 100\n"
			   ".[others] 0 30 x1\n");
	call_tree_deinit(&tree);
	hand_free(&hand);
}

static void test_empty(void)
{
	struct hand_profile hand;
	struct call_tree tree;

	hand_make(&hand, NULL, 0, NULL, 0, 0);
	CHECK(!call_tree_make(&hand.named, &(struct tree_options){ .share_least = 1 }, &tree));
	CHECK_EQUAL(tree.count, 1);
	CHECK_EQUAL(tree.nodes[0].cumulative.live_bytes, 0);
	CHECK(!tree.nodes[0].is_cut);
	call_tree_deinit(&tree);
	hand_free(&hand);
}

int main(void)
{
	struct hand_profile hand;

	hand_make(&hand, service_places, SERVICE_PLACES, service_samples, SERVICE_SAMPLES, 0x10000);
	test_cases(&hand);
	test_nodes(&hand);
	test_kept(&hand);
	hand_free(&hand);
	test_signs();
	test_empty();
	return CHECK_RESULT();
}
