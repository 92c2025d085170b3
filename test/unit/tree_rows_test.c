// SPDX-License-Identifier: Apache-2.0
// Call trees as rows (cli/tree_rows.c), of a profile made by hand.
#include "captured.h"
#include "check.h"
#include "hand_service.h"

#include "../../cli/tree_rows.c"

static const struct {
	struct options options;
	struct tree_options tree;
	bool is_difference;
	const char *expected;
} cases[] = {
	{ { .wide = true },
	  { .unit = UNIT_FUNCTION },
	  false,
	  "      live   share  blocks  roots > what they call\n"
	  "     216 B 100.0 %      24  [all]\n"
	  "     210 B  97.2 %      22    main\n"
	  "     178 B  82.4 %      18      serve(int)\n"
	  "      20 B   9.3 %       2        [itself]\n"
	  "     150 B  69.4 %      15        Cache::put(int)\n"
	  "      50 B  23.1 %       5          [itself]\n"
	  "     100 B  46.3 %      10          std::vector<int>::push_back\n"
	  "       8 B   3.7 %       1        main > serve(int)\n" // one way to go on, one row
	  "      30 B  13.9 %       3      libz.so+0x2010\n"
	  "       2 B   0.9 %       1      serve(int)\n"
	  "       4 B   1.9 %       1    malloc\n"
	  "       2 B   0.9 %       1    [stack unknown]\n" },
	{ { .wide = true },
	  { .unit = UNIT_LINE, .share_least = 0.1, .limit = 2, .hidden = 1U << FRAME_CONTAINER },
	  false,
	  "      live   share  blocks  roots > what they call\n"
	  "     216 B 100.0 %      24  [all]\n"
	  "     210 B  97.2 %      22    main main.cpp:3\n"
	  "     178 B  82.4 %      18      serve(int) serve.cpp:7\n"
	  "      20 B   9.3 %       2        [itself]\n"
	  "     100 B  46.3 %      10        Cache::put(int) cache.cpp:18\n"
	  "      50 B  23.1 %       5        Cache::put(int) cache.cpp:25\n"
	  "       8 B   3.7 %       1        [1 more]\n"
	  "      30 B  13.9 %       3      libz.so+0x2010\n"
	  "       2 B   0.9 %       1      [1 more]\n"
	  "       6 B   2.8 %       2    [2 more]\n" },
	{ { .wide = true, .view = { .bottom_up = true } },
	  { .unit = UNIT_MODULE, .is_from_leaf = true },
	  false,
	  "      live   share  blocks  what allocated < its callers\n"
	  "     216 B 100.0 %      24  [all]\n"
	  "     180 B  83.3 %      19    app\n"
	  "      30 B  13.9 %       3    libz.so < app\n"
	  "       4 B   1.9 %       1    libc.so.6\n"
	  "       2 B   0.9 %       1    [stack unknown]\n" },
	{ { .wide = true, .view = { .order = ORDER_ALLOCATED, .bottom_up = true } },
	  { .unit = UNIT_FUNCTION, .is_from_leaf = true, .order = ORDER_ALLOCATED, .limit = 1, .depth_limit = 2 },
	  false,
	  " allocated   share  blocks  what allocated < its callers\n"
	  "   5.0 KiB 100.0 %     113  [all]\n"
	  "   3.9 KiB  78.6 %       2    serve(int) < main\n"
	  "   1.1 KiB  21.4 %     111    [6 more]\n" },
	// shares of what may be below 0 say nothing
	{ { .wide = true },
	  { .unit = UNIT_FILE, .depth_limit = 1, .limit = 1 },
	  true,
	  "      live  blocks  roots > what they call\n"
	  "    +216 B     +24  [all]\n"
	  "    +210 B     +22    main.cpp\n"
	  "      +6 B      +2    [2 more]\n"
	  "The tree has more rows than can be shown; --focus makes it smaller.\n" },
};

static void test_cases(void)
{
	struct hand_profile hand;

	hand_make(&hand, service_places, SERVICE_PLACES, service_samples, SERVICE_SAMPLES, 0x10000);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct call_tree tree;

		hand.profile.is_difference = cases[i].is_difference;
		CHECK(!call_tree_make(&hand.named, &cases[i].tree, &tree));
		capture_begin();
		CHECK(!tree_rows_print(&cases[i].options, &hand.profile, &tree));
		capture_end();
		CHECK_STRING(captured_output(), cases[i].expected);
		call_tree_deinit(&tree);
	}
	hand_free(&hand);
}

// Of no stack there is nothing to show.
static void test_empty(void)
{
	const struct options options = { .wide = true };
	struct hand_profile hand;
	struct call_tree tree;

	hand_make(&hand, NULL, 0, NULL, 0, 0);
	CHECK(!call_tree_make(&hand.named, &(struct tree_options){ .unit = UNIT_LINE }, &tree));
	capture_begin();
	CHECK(!tree_rows_print(&options, &hand.profile, &tree));
	capture_end();
	CHECK_STRING(captured_output(), "");
	call_tree_deinit(&tree);
	hand_free(&hand);
}

int main(void)
{
	test_cases();
	test_empty();
	return CHECK_RESULT();
}
