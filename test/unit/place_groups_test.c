// SPDX-License-Identifier: Apache-2.0
// Which frames of a stack are left out.
#include "check.h"
#include "hand_profile.h"
#include "views/place_groups.h"

enum { PLACES = 6 };

static const struct hand_place places[PLACES] = {
	{ "handle", "handle()", "server.cc", 7, "app", FRAME_OWN },        // a
	{ "run", "run", "", 0, "libruntime.so", FRAME_RUNTIME },           // b
	{ "_start", "_start", "", 0, "app", FRAME_RUNTIME },               // c
	{ "malloc", "malloc", "", 0, "libc.so", FRAME_ALLOCATOR },         // d
	{ "operator()", "operator()", "server.cc", 9, "app", FRAME_OWN },  // e
	{ "operator()", "operator()", "server.cc", 30, "app", FRAME_OWN }, // f
};

#define HIDDEN (1U << FRAME_ALLOCATOR | 1U << FRAME_RUNTIME | FRAME_START_BIT)

static const struct {
	const char *stack;
	unsigned hidden;
	const char *expected;
} cases[] = {
	{ "dabc", 0, "handle run _start " }, { "dabc", HIDDEN, "handle " },
	{ "dbc", HIDDEN, "run " }, // nobody's own code: the runtime is all that there is
	{ "dbc", FRAME_START_BIT, "run " },  { "dc", HIDDEN, "_start " }, // the innermost one stays
};

static void test_hidden(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hand_sample sample = { cases[i].stack, 1, 1, 1, 1, 0 };
		struct stack_buffer stack = { 0 };
		struct place_groups groups;
		struct hand_profile hand;
		char text[200] = "";

		hand_make(&hand, places, PLACES, &sample, 1, 0x10000);
		for (size_t k = 0; k < hand.named.place_count; k++)
			if (strcmp(hand.named.places[k].name, "_start") == 0)
				hand.named.places[k].judgement.role = ROLE_START;
		CHECK(!place_groups_make(&hand.named, UNIT_FUNCTION, &groups));
		CHECK(!stack_groups(&groups, &hand.profile.samples[0], cases[i].hidden, &stack));
		for (size_t k = 0; k < stack.count; k++) {
			strcat(text, group_text(&groups, stack.items[k]).name);
			strcat(text, " ");
		}
		CHECK_STRING(text, cases[i].expected);
		stack_buffer_deinit(&stack);
		place_groups_deinit(&groups);
		hand_free(&hand);
	}
}

// All lambdas of a file may have one name: they are one function only where they begin in one line.
static void test_lambdas(void)
{
	struct hand_sample sample = { "ef", 1, 1, 1, 1, 0 };
	struct place_groups groups;
	struct hand_profile hand;

	hand_make(&hand, places, PLACES, &sample, 1, 0x10000);
	for (int is_apart = 0; is_apart < 2; is_apart++) {
		hand.profile.functions[hand.named.places[5].function].start_line = is_apart ? 29 : 8;
		hand.profile.functions[hand.named.places[4].function].start_line = 8;
		CHECK(!place_groups_make(&hand.named, UNIT_FUNCTION, &groups));
		CHECK_EQUAL(groups.of_place[4] != groups.of_place[5], is_apart);
		CHECK_EQUAL(group_text(&groups, groups.of_place[5]).line, is_apart ? 29 : 8);
		place_groups_deinit(&groups);
	}
	// Where it is not known where they begin, each line is apart; of other functions it is not.
	for (size_t i = 0; i < hand.profile.function_count; i++)
		hand.profile.functions[i].start_line = 0;
	CHECK(!place_groups_make(&hand.named, UNIT_FUNCTION, &groups));
	CHECK(groups.of_place[4] != groups.of_place[5]);
	CHECK_EQUAL(group_text(&groups, groups.of_place[4]).line, 9);
	CHECK_EQUAL(group_text(&groups, groups.of_place[5]).line, 30);
	CHECK_EQUAL(group_text(&groups, groups.of_place[0]).line, 0);
	place_groups_deinit(&groups);
	hand_free(&hand);
}

int main(void)
{
	test_hidden();
	test_lambdas();
	return CHECK_RESULT();
}
