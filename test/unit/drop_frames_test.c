// SPDX-License-Identifier: Apache-2.0
// What pprof shows of stacks when it goes by drop_frames and keep_frames: a model of its pruning (profile/prune.go),
// which e2e.reader compares with the real one.
#include "check.h"
#include "hand_profile.h"
#include "views/drop_frames.h"

#include <regex.h>
#include <stdio.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct hand_place places[] = {
	{ "m", "malloc", "", 0, "libc.so.6", FRAME_ALLOCATOR },
	{ "n", "operator new(unsigned long)", "", 0, "libstdc++.so.6", FRAME_ALLOCATOR },
	{ "a", "std::__new_allocator<int>::allocate(unsigned long, void const*)", "", 0, "app", FRAME_ALLOCATOR },
	{ "v", "void std::vector<shop::Item, std::allocator<shop::Item> >::_M_realloc_insert<int>(int)", "", 0, "app",
	  FRAME_CONTAINER },
	{ "e", "std::map<int, shop::Item>::emplace(int)", "", 0, "app", FRAME_CONTAINER },
	{ "o", "std::map<int, (anonymous namespace)::A+B>::operator()(int)", "", 0, "app", FRAME_CONTAINER },
	{ "p", "shop::Cache::put(int)", "", 0, "app", FRAME_OWN },
	{ "i", "shop::Item::Item(int)", "", 0, "app", FRAME_OWN },
	{ "w", "main", "", 0, "app", FRAME_OWN },
	{ "l", "xmlNewNode", "", 0, "libxml2.so.2", FRAME_LIBRARY },
	{ "u", NULL, "", 0x123, "app", FRAME_UNKNOWN },
	{ "z", "zmalloc", "", 0, "app", FRAME_OWN }, // --own zmalloc
	{ "x", "xmalloc", "", 0, "app", FRAME_WRAPPER },
};

// The letters of stacks are those of hand_profile.h: 'a' is places[0].
enum { M = 'a', NEW, ALLOCATE, VECTOR, MAP, CALL, PUT, ITEM, MAIN, XML, UNKNOWN, ZMALLOC, XMALLOC };
#define S(...) ((const char[]){ __VA_ARGS__, 0 })

static const struct {
	const char *stacks[3], *shown[3];
} cases[] = {
	// what is allocated by the own code is its own
	{ { S(ALLOCATE, VECTOR, PUT, MAIN), S(XMALLOC, PUT) }, { S(PUT, MAIN), S(PUT) } },
	// a container calls own code: that stays, and so does the container in all stacks; what it calls itself goes
	{ { S(NEW, ITEM, MAP, PUT), S(ALLOCATE, MAP, PUT), S(ALLOCATE, VECTOR, ITEM, MAP, MAIN) },
	  { S(ITEM, MAP, PUT), S(MAP, PUT), S(ITEM, MAP, MAIN) } },
	// so do libraries, and code without a name
	{ { S(XML, VECTOR, PUT), S(UNKNOWN, MAP, PUT) }, { S(XML, VECTOR, PUT), S(UNKNOWN, MAP, PUT) } },
	// what the user calls own is not hidden; nor is what is called by nobody
	{ { S(ZMALLOC, PUT), S(ALLOCATE, MAP), S(ALLOCATE) }, { S(ZMALLOC, PUT), S(ALLOCATE, MAP), S(ALLOCATE) } },
	// a name with brackets and other letters that mean something
	{ { S(PUT, CALL, MAIN), S(ALLOCATE, VECTOR, MAIN) }, { S(PUT, CALL, MAIN), S(MAIN) } },
	{ { S(ALLOCATE, CALL, MAIN) }, { S(MAIN) } },
	{ { S(PUT, MAIN), "" }, { S(PUT, MAIN), "" } },
};

static void compile(const char *text, regex_t *ret)
{
	char *whole = NULL;

	CHECK(asprintf(&whole, "^(%s)$", text) > 0);
	CHECK_EQUAL(regcomp(ret, whole, REG_EXTENDED | REG_NOSUB), 0);
	free(whole);
}

// As pprof shortens it, for the names here.
static void shorten(const char *name, char ret[200])
{
	const char *end = strrchr(name, '(');

	snprintf(ret, 200, "%.*s", end ? (int)(end - name) : (int)strlen(name), name);
}

static bool is_pruned(const regex_t *drop, const regex_t *keep, char letter)
{
	const char *full_name = places[letter - 'a'].full_name;
	char name[200];

	if (!full_name)
		return false;
	shorten(full_name, name);
	return regexec(drop, name, 0, NULL, 0) == 0 && (!keep || regexec(keep, name, 0, NULL, 0) != 0);
}

static const char *prune(const struct drop_frames *frames, const char *stack)
{
	regex_t drop, keep;
	bool found_user = false;
	size_t at = strlen(stack);

	if (!frames->drop)
		return stack;
	compile(frames->drop, &drop);
	if (frames->keep)
		compile(frames->keep, &keep);
	for (; at > 0; at--) {
		const bool is = is_pruned(&drop, frames->keep ? &keep : NULL, stack[at - 1]);

		found_user |= !is;
		if (is && found_user)
			break;
	}
	regfree(&drop);
	if (frames->keep)
		regfree(&keep);
	return stack + at;
}

static void test_cases(const struct frame_rules *rules)
{
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct hand_sample samples[3] = { { 0 } };
		struct hand_profile hand;
		struct drop_frames frames;
		size_t count = 0;

		for (; count < 3 && cases[i].stacks[count]; count++)
			samples[count].stack = cases[i].stacks[count];
		hand_make(&hand, places, COUNT(places), samples, count, 0x10000);
		hand.named.rules = rules;
		CHECK(!drop_frames_make(&hand.named, &frames));
		for (size_t stack = 0; stack < count; stack++)
			CHECK_STRING(prune(&frames, samples[stack].stack), cases[i].shown[stack]);
		drop_frames_deinit(&frames);
		hand_free(&hand);
	}
}

static void test_size(const struct frame_rules *rules)
{
	const struct hand_sample one = { .stack = S(ALLOCATE, VECTOR, PUT, MAIN) };
	struct hand_profile hand;
	struct drop_frames frames;

	hand_make(&hand, places, COUNT(places), &one, 1, 0);
	hand.named.rules = rules;
	CHECK(!drop_frames_make(&hand.named, &frames));
	CHECK(frames.drop && !frames.keep && strlen(frames.drop) < 1000);
	printf("drop_frames: %zu bytes\n", strlen(frames.drop));
	drop_frames_deinit(&frames);
	hand_free(&hand);
	hand_make(&hand, &places[PUT - 'a'], 3, &(struct hand_sample){ .stack = "ac" }, 1, 0);
	hand.named.rules = rules;
	CHECK(!drop_frames_make(&hand.named, &frames));
	CHECK(!frames.drop && !frames.keep);
	hand_free(&hand);
}

// Names to be kept that are too long: their pattern is given up, others are not.
static void test_long_names(const struct frame_rules *rules)
{
	enum { LONG = 20000 };
	static char name[LONG + 100] = "std::map<";
	struct hand_place some[] = { places[ITEM - 'a'],
				     { "e", name, "", 0, "app", FRAME_CONTAINER },
				     places[ALLOCATE - 'a'],
				     { "f", "std::map<int>::emplace()", "", 0, "app", FRAME_CONTAINER },
				     places[VECTOR - 'a'] };
	const struct hand_sample samples[] = { { .stack = "ab" }, { .stack = "cda" }, { .stack = "cea" } };
	struct hand_profile hand;
	struct drop_frames frames;
	regex_t drop;

	memset(name + strlen(name), 'x', LONG);
	strcat(name, ">::emplace()");
	hand_make(&hand, some, COUNT(some), samples, COUNT(samples), 0);
	hand.named.rules = rules;
	CHECK(!drop_frames_make(&hand.named, &frames));
	CHECK(!frames.keep);
	compile(frames.drop, &drop);
	CHECK(regexec(&drop, "std::map<int>::emplace", 0, NULL, 0) != 0);
	CHECK(regexec(&drop, "std::vector<int>::push_back", 0, NULL, 0) == 0);
	regfree(&drop);
	drop_frames_deinit(&frames);
	hand_free(&hand);
}

int main(void)
{
	struct frame_rules *rules = NULL;

	CHECK(!frame_rules_create(&rules));
	test_cases(rules);
	test_size(rules);
	test_long_names(rules);
	frame_rules_destroy(rules);
	return CHECK_RESULT();
}
