// SPDX-License-Identifier: Apache-2.0
// Which libraries are named where one site stands for nearly everything (views/own_hint.h).
#include "check.h"
#include "hand_profile.h"
#include "views/own_hint.h"

static const struct hand_place places[] = {
	{ "main", "main", "main.cc", 7, "app", FRAME_OWN },                              // a
	{ "Pass::run", "Pass::run", "", 0, "libLLVM-14.so.1", FRAME_LIBRARY },           // b
	{ "Parser::next", "Parser::next", "", 0, "libParse.so.14", FRAME_LIBRARY },      // c
	{ "fopen", "fopen", "", 0, "libc.so.6", FRAME_LIBRARY },                         // d
	{ "malloc", "malloc", "", 0, "libc.so.6", FRAME_ALLOCATOR },                     // e
	{ "odd", "odd", "", 0, "lib$(reboot)'.so", FRAME_LIBRARY },                      // f
	{ "other", "other", "main.cc", 70, "app", FRAME_OWN },                           // g
	{ "SmallVector::grow", "SmallVector::grow", "", 0, "libADT.so", FRAME_LIBRARY }, // h, by its name
	{ "one", "one", "", 0, "libone.so", FRAME_LIBRARY },                             // i
	{ "two", "two", "", 0, "libtwo.so", FRAME_LIBRARY },                             // j
	{ "eval", "eval", "", 0, "libpython3.so", FRAME_RUNTIME },                       // k
	{ "inline", "inline", "", 0, "app", FRAME_LIBRARY },                             // l
};
enum { PLACES = sizeof(places) / sizeof(places[0]), STACKS_MOST = 12, BY_NAME = 7 };

static const struct {
	struct {
		const char *stack;
		unsigned count; // of stacks, each with as many frames more of the first function
		int64_t bytes;  // of each
	} stacks[3];
	const char *regex; // NULL = no hint
	int percent;
} cases[] = {
	{ { { "ecba", 8, 100 } }, "libLLVM-14|libParse", 100 },
	{ { { "ecba", 7, 100 } }, NULL, 100 }, // too few stacks to hide anything
	{ { { "ecba", 8, 100 }, { "eg", 1, 200 } }, "libLLVM-14|libParse", 80 },
	{ { { "ecba", 8, 100 }, { "eg", 1, 201 } }, NULL, 80 },                   // another site counts
	{ { { "eca", 4, 100 }, { "eba", 4, 100 } }, "libLLVM-14|libParse", 100 }, // half of the bytes each
	{ { { "eca", 4, 100 }, { "eba", 4, 101 } }, "libLLVM-14", 100 },
	{ { { "edcba", 8, 100 } }, "libLLVM-14|libParse", 100 }, // the C library is nobody's own
	{ { { "eda", 8, 100 } }, NULL, 100 },
	{ { { "efa", 8, 100 } }, NULL, 100 }, // no name for a command line
	{ { { "eha", 8, 100 } }, NULL, 100 }, // --own would change nothing
	{ { { "eka", 8, 100 } }, NULL, 100 },
	{ { { "ela", 8, 100 } }, NULL, 100 },                            // in the program itself
	{ { { "eijcba", 8, 100 } }, "libLLVM-14|libParse|libone", 100 }, // three at most
	{ { { "ecb", 8, 100 } }, NULL, 100 },                            // not own code: no site of the user's
	{ { { "ecba", 8, 0 } }, NULL, 0 },
};

static const struct site_options by_live = { ORDER_LIVE, NULL };

// Repeats the second letter: functions that call themselves are other stacks of the same site.
static size_t add_stacks(size_t first, const char *stack, unsigned count, int64_t bytes, char texts[][64],
			 struct hand_sample *samples)
{
	for (unsigned i = 0; i < count; i++) {
		snprintf(texts[first], sizeof(texts[first]), "%c%.*s%s", stack[0], (int)i, "------------", stack + 1);
		memset(texts[first] + 1, stack[1], i);
		samples[first] = (struct hand_sample){ texts[first], bytes, 1, bytes, 1, 0 };
		first++;
	}
	return first;
}

static void check_case(size_t number)
{
	char texts[3 * STACKS_MOST][64];
	struct hand_sample samples[3 * STACKS_MOST];
	struct hand_profile hand;
	struct own_hint hint;
	struct site_list sites;
	size_t count = 0;

	for (size_t i = 0; i < 3 && cases[number].stacks[i].stack; i++)
		count = add_stacks(count, cases[number].stacks[i].stack, cases[number].stacks[i].count,
				   cases[number].stacks[i].bytes, texts, samples);
	hand_make(&hand, places, PLACES, samples, count, 0x10000);
	hand.named.places[BY_NAME].judgement.why = "pattern SmallVector::*";
	CHECK(!sites_make(&hand.named, &sites));
	CHECK(!own_hint_make(&hand.named, &sites, &by_live, &hint));
	CHECK_STRING(hint.regex ? hint.regex : "none", cases[number].regex ? cases[number].regex : "none");
	CHECK_EQUAL((int)(hint.share * 100 + 0.5), cases[number].percent);
	own_hint_deinit(&hint);

	// Of a difference, nothing.
	hand.profile.is_difference = true;
	CHECK(!own_hint_make(&hand.named, &sites, &by_live, &hint));
	CHECK(!hint.regex);
	sites_deinit(&sites);
	hand_free(&hand);
}

// Only what is shown counts.
static void test_kept(void)
{
	char texts[2 * STACKS_MOST][64];
	struct hand_sample samples[2 * STACKS_MOST];
	bool kept[2 * STACKS_MOST] = { false };
	const struct site_options options = { ORDER_LIVE, kept };
	struct hand_profile hand;
	struct own_hint hint;
	struct site_list sites;
	size_t count = add_stacks(0, "eca", 10, 100, texts, samples),
	       end = add_stacks(count, "eba", 10, 100, texts, samples);

	for (size_t i = count; i < end; i++)
		kept[i] = true;
	hand_make(&hand, places, PLACES, samples, end, 0x10000);
	CHECK(!sites_make_of(&hand.named, &options, &sites));
	CHECK(!own_hint_make(&hand.named, &sites, &options, &hint));
	CHECK_STRING(hint.regex, "libLLVM-14");
	own_hint_deinit(&hint);
	sites_deinit(&sites);
	hand_free(&hand);
}

// What is shown is what counts: all has been freed, but for the blocks of another site.
static void test_allocated(void)
{
	const struct site_options by_allocated = { ORDER_ALLOCATED, NULL };
	char texts[2 * STACKS_MOST][64];
	struct hand_sample samples[2 * STACKS_MOST];
	struct hand_profile hand;
	struct own_hint hint;
	struct site_list sites;
	size_t count = add_stacks(0, "eba", 10, 100, texts, samples);

	for (size_t i = 0; i < count; i++)
		samples[i].live_bytes = samples[i].live_objects = 0;
	count = add_stacks(count, "eg", 1, 50, texts, samples);
	hand_make(&hand, places, PLACES, samples, count, 0x10000);
	CHECK(!sites_make(&hand.named, &sites));
	CHECK(!own_hint_make(&hand.named, &sites, &by_live, &hint));
	CHECK(!hint.regex);
	CHECK(!own_hint_make(&hand.named, &sites, &by_allocated, &hint));
	CHECK_STRING(hint.regex, "libLLVM-14");
	own_hint_deinit(&hint);
	sites_deinit(&sites);
	hand_free(&hand);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check_case(i);
	test_kept();
	test_allocated();
	return CHECK_RESULT();
}
