// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include "hand_profile.h"
#include "views/site_changes.h"

// Paths are letters, as stacks are.
struct hand_site {
	const char *path;
	int64_t live_bytes, live_objects, alloc_bytes;
	double variance;
};

enum { SITES_MOST = 8, PATH_MOST = 8 };

struct hand_sites {
	struct site items[SITES_MOST];
	uint32_t paths[SITES_MOST][PATH_MOST];
	struct site_list list;
};

static void make_sites(struct hand_sites *hand, const struct hand_site *sites, size_t count)
{
	*hand = (struct hand_sites){ .list = { .items = hand->items, .count = count } };
	for (size_t i = 0; i < count; i++) {
		hand->items[i] = (struct site){
			.path = hand->paths[i],
			.path_length = (uint32_t)strlen(sites[i].path),
			.via = "",
			.values = { .alloc_bytes = sites[i].alloc_bytes,
				    .live_bytes = sites[i].live_bytes,
				    .live_objects = sites[i].live_objects,
				    .live_bytes_variance = sites[i].variance,
				    .live_objects_variance = sites[i].variance / 100 },
		};
		for (size_t j = 0; sites[i].path[j]; j++)
			hand->paths[i][j] = (uint32_t)(sites[i].path[j] - 'a');
	}
}

static void write_changes(const struct site_changes *changes, const struct hand_sites *old,
			  const struct hand_sites *new, char *text, size_t room)
{
	size_t at = 0;

	text[0] = '\0';
	for (size_t i = 0; i < changes->count && at < room; i++) {
		const struct site_change *item = &changes->items[i];

		at += (size_t)snprintf(
			text + at, room - at, "%d %d: %" PRId64 " - %" PRId64 " = %" PRId64 " +- %" PRIu64 "%s\n",
			item->new ? (int)(item->new - new->items) : -1, item->old ? (int)(item->old - old->items) : -1,
			item->after.live_bytes, item->before.live_bytes, item->change.live_bytes, item->bytes_error,
			item->is_significant ? " !" : "");
	}
}

static const struct hand_place old_places[] = {
	{ "put", "put(int)", "cache.cpp", 18, "app", FRAME_OWN }, // a
	{ "put", "put(int)", "cache.cpp", 25, "app", FRAME_OWN }, // b
	{ "main", "main", "main.cpp", 3, "app", FRAME_OWN },      // c
	{ "get", "get", "cache.cpp", 40, "app", FRAME_OWN },      // d
};
// In another order, and one line further below in cache.cpp's put.
static const struct hand_place new_places[] = {
	{ "main", "main", "main.cpp", 3, "app", FRAME_OWN },      // a
	{ "get", "get", "cache.cpp", 40, "app", FRAME_OWN },      // b
	{ "put", "put(int)", "cache.cpp", 19, "app", FRAME_OWN }, // c
	{ "put", "put(int)", "cache.cpp", 25, "app", FRAME_OWN }, // d
};
static const struct hand_site old_sites[] = {
	{ "ac", 100, 10, 100, 9 },
	{ "bc", 50, 5, 50, 16 },
	{ "dc", 40, 4, 40, 0 },
	{ "", 4, 1, 4, 0 },
};
static const struct hand_site new_sites[] = {
	{ "ca", 107, 10, 107, 0 }, { "da", 55, 5, 55, 16 }, { "ba", 10, 1, 10, 0 },
	{ "b", 10, 1, 10, 0 },     { "", 4, 1, 4, 0 },
};

static const struct {
	enum site_match match;
	enum site_change_order order;
	const char *expected;
} cases[] = {
	{ MATCH_LINES, CHANGES_BY_SIZE,
	  "0 -1: 107 - 0 = 107 +- 0 !\n"
	  "-1 0: 0 - 100 = -100 +- 3 !\n"
	  "2 2: 10 - 40 = -30 +- 0 !\n"
	  "3 -1: 10 - 0 = 10 +- 0 !\n"
	  "1 1: 55 - 50 = 5 +- 6\n"
	  "4 3: 4 - 4 = 0 +- 0\n" },
	{ MATCH_LINES, CHANGES_BY_GROWTH,
	  "0 -1: 107 - 0 = 107 +- 0 !\n"
	  "3 -1: 10 - 0 = 10 +- 0 !\n"
	  "1 1: 55 - 50 = 5 +- 6\n"
	  "4 3: 4 - 4 = 0 +- 0\n"
	  "2 2: 10 - 40 = -30 +- 0 !\n"
	  "-1 0: 0 - 100 = -100 +- 3 !\n" },
	{ MATCH_NAMES, CHANGES_BY_SIZE,
	  "2 2: 10 - 40 = -30 +- 0 !\n"
	  "0 0: 162 - 150 = 12 +- 7\n" // 25 + 16 = 41, and 12 is not beyond twice its root
	  "3 -1: 10 - 0 = 10 +- 0 !\n"
	  "4 3: 4 - 4 = 0 +- 0\n" },
};

static void test_cases(void)
{
	struct hand_sites old, new;
	struct hand_profile old_hand, new_hand;

	hand_make(&old_hand, old_places, 4, NULL, 0, 0x10000);
	hand_make(&new_hand, new_places, 4, NULL, 0, 0x10000);
	make_sites(&old, old_sites, sizeof(old_sites) / sizeof(old_sites[0]));
	make_sites(&new, new_sites, sizeof(new_sites) / sizeof(new_sites[0]));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct site_changes changes;
		char text[1000];

		CHECK(!site_changes_make(&old_hand.named, &old.list, &new_hand.named, &new.list, cases[i].match,
					 cases[i].order, &changes));
		write_changes(&changes, &old, &new, text, sizeof(text));
		CHECK_STRING(text, cases[i].expected);
		site_changes_deinit(&changes);
	}
	hand_free(&old_hand);
	hand_free(&new_hand);
}

static const struct {
	enum values_order order;
	const char *expected;
} sorted[] = {
	{ ORDER_BLOCKS, "-1 0: 0 - 100 = -100 +- 3 !\n"
			"0 -1: 107 - 0 = 107 +- 0 !\n"
			"2 2: 10 - 40 = -30 +- 0 !\n"
			"3 -1: 10 - 0 = 10 +- 0 !\n"
			"1 1: 55 - 50 = 5 +- 6\n"
			"4 3: 4 - 4 = 0 +- 0\n" },
	// the stack that is not known has no name
	{ ORDER_NAME, "4 3: 4 - 4 = 0 +- 0\n"
		      "2 2: 10 - 40 = -30 +- 0 !\n"
		      "3 -1: 10 - 0 = 10 +- 0 !\n"
		      "0 -1: 107 - 0 = 107 +- 0 !\n"
		      "-1 0: 0 - 100 = -100 +- 3 !\n"
		      "1 1: 55 - 50 = 5 +- 6\n" },
};

static void test_sort(void)
{
	struct hand_sites old, new;
	struct hand_profile old_hand, new_hand;

	hand_make(&old_hand, old_places, 4, NULL, 0, 0x10000);
	hand_make(&new_hand, new_places, 4, NULL, 0, 0x10000);
	make_sites(&old, old_sites, sizeof(old_sites) / sizeof(old_sites[0]));
	make_sites(&new, new_sites, sizeof(new_sites) / sizeof(new_sites[0]));
	old.list.items[0].values.live_objects = 11; // more blocks than the site that has more bytes
	for (size_t i = 0; i < sizeof(sorted) / sizeof(sorted[0]); i++) {
		struct site_changes changes;
		char text[1000];

		CHECK(!site_changes_make(&old_hand.named, &old.list, &new_hand.named, &new.list, MATCH_LINES,
					 CHANGES_BY_SIZE, &changes));
		site_changes_sort(&changes, &old_hand.named, &new_hand.named, sorted[i].order);
		write_changes(&changes, &old, &new, text, sizeof(text));
		CHECK_STRING(text, sorted[i].expected);
		site_changes_deinit(&changes);
	}
	hand_free(&old_hand);
	hand_free(&new_hand);
}

// Of an estimate no error is below its interval, also where there is no sample at all.
static void test_errors(void)
{
	static const struct hand_site before[] = { { "c", 1000, 10, 1000, 0 } }, after[] = {
		{ "a", 2000, 10, 2000, 0 }, { "b", 8100, 10, 8100, 9e6 }, { "d", 6001, 10, 6001, 0 }
	};
	static const char exact_before[] = "1 -1: 8100 - 0 = 8100 +- 3000 !\n"
					   "2 -1: 6001 - 0 = 6001 +- 3000 !\n"
					   "0 0: 2000 - 1000 = 1000 +- 3000\n",
			  both[] = "1 -1: 8100 - 0 = 8100 +- 5000\n"
				   "2 -1: 6001 - 0 = 6001 +- 5000\n"
				   "0 0: 2000 - 1000 = 1000 +- 5000\n";
	struct hand_sites old, new;
	struct hand_profile old_hand, new_hand;
	struct site_changes changes;
	char text[1000];

	hand_make(&old_hand, old_places, 4, NULL, 0, 0x10000);
	hand_make(&new_hand, new_places, 4, NULL, 0, 0x10000);
	make_sites(&old, before, 1);
	make_sites(&new, after, 3);
	new_hand.profile.is_estimate = true;
	new_hand.profile.period = 3000;
	CHECK(!site_changes_make(&old_hand.named, &old.list, &new_hand.named, &new.list, MATCH_LINES, CHANGES_BY_SIZE,
				 &changes));
	write_changes(&changes, &old, &new, text, sizeof(text));
	CHECK_STRING(text, exact_before);
	CHECK(changes.items[0].objects_error > 0);
	site_changes_deinit(&changes);

	old_hand.profile.is_estimate = true;
	old_hand.profile.interval_most = 4000;
	CHECK(!site_changes_make(&old_hand.named, &old.list, &new_hand.named, &new.list, MATCH_LINES, CHANGES_BY_SIZE,
				 &changes));
	write_changes(&changes, &old, &new, text, sizeof(text));
	CHECK_STRING(text, both);
	site_changes_deinit(&changes);
	hand_free(&old_hand);
	hand_free(&new_hand);
}

static void test_empty_and_limits(void)
{
	static const struct hand_site before[] = { { "a", INT64_MIN, 1, 1, 0 } }, after[] = { { "c", 5, 1, 1, 0 } };
	struct hand_sites old, new;
	struct hand_profile hand;
	struct site_changes changes;

	hand_make(&hand, old_places, 4, NULL, 0, 0x10000);
	make_sites(&old, NULL, 0);
	CHECK(!site_changes_make(&hand.named, &old.list, &hand.named, &old.list, MATCH_LINES, CHANGES_BY_SIZE,
				 &changes));
	CHECK_EQUAL(changes.count, 0);
	site_changes_deinit(&changes);
	make_sites(&old, before, 1);
	make_sites(&new, after, 1);
	CHECK(!site_changes_make(&hand.named, &old.list, &hand.named, &new.list, MATCH_LINES, CHANGES_BY_SIZE,
				 &changes));
	CHECK_EQUAL(changes.count, 2);
	CHECK_EQUAL(changes.items[0].change.live_bytes, INT64_MAX);
	site_changes_deinit(&changes);
	hand_free(&hand);
}

int main(void)
{
	test_cases();
	test_sort();
	test_errors();
	test_empty_and_limits();
	return CHECK_RESULT();
}
