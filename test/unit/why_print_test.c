// SPDX-License-Identifier: Apache-2.0
// What why prints (cli/why.c) of watches made by hand, on terminals of 80 and 120 columns.
#include "check.h"
#include "hand_profile.h"

#include "../../cli/why.c"

#include <fcntl.h>
#include <pty.h>
#include <unistd.h>

enum { CUTS = 7, PLACES = 6, LEDGER = 2 };

static const int64_t MIB = 1 << 20;

static const struct hand_place places[PLACES] = {
	{ "malloc", "malloc", "", 0, "libc.so.6", FRAME_ALLOCATOR },                              // a
	{ "put", "shop::Cache::put(std::string const&)", "src/cache.cpp", 18, "app", FRAME_OWN }, // b
	{ "handle",
	  "shop::(anonymous namespace)::Server<shop::Protocol<int, shop::Framing<char> > >::handle_request(int)",
	  "src/server_of_requests.cpp", 240, "app", FRAME_OWN },                                // c
	{ "main", "main", "src/main.cpp", 3, "app", FRAME_OWN },                                // d
	{ "parse", "shop::parse_message(char const*)", "src/parse.cpp", 40, "app", FRAME_OWN }, // e
	{ "load", "shop::Table::load(int)", "src/table.cpp", 7, "app", FRAME_OWN },             // f
};

struct watch {
	struct hand_profile hands[CUTS];
	struct profile_view views[CUTS];
	struct frame_rules *rules;
	struct hs_watch_result result;
};

// How each moment comes about: bytes, blocks.
struct story {
	const char *name;
	int64_t leak, table[CUTS], churn; // MiB a cut; MiB; MiB a cut
	int64_t anonymous[CUTS];          // MiB
	int64_t keeps, amid[CUTS];        // KiB a cut that stay, MiB that do not: at the site of the leak
	size_t cuts;                      // 0 = CUTS
	bool is_estimate;
	enum hs_watch_end end;
};

static const struct story stories[] = {
	{ .name = "a leak, beside a table that levelled off",
	  .leak = 20,
	  .table = { 1, 8, 11, 12, 12, 12, 12 },
	  .churn = 800,
	  .anonymous = { 50, 77, 100, 121, 141, 161, 181 },
	  .end = HS_WATCH_PROCESS_ENDED },
	{ .name = "nothing",
	  .table = { 3, 3, 3, 3, 3, 3, 3 },
	  .anonymous = { 50, 50, 50, 50, 50, 50, 50 },
	  .is_estimate = true },
	{ .name = "a leak amid churn at its line",
	  .table = { 3, 3, 3, 3, 3, 3, 3 },
	  .anonymous = { 50, 51, 50, 52, 51, 52, 51 },
	  .keeps = 640,
	  .amid = { 9, 14, 8, 12, 15, 10, 13 } },
	{ .name = "the same by estimates",
	  .table = { 3, 3, 3, 3, 3, 3, 3 },
	  .anonymous = { 50, 51, 50, 52, 51, 52, 51 },
	  .keeps = 640,
	  .amid = { 9, 14, 8, 12, 15, 10, 13 },
	  .is_estimate = true },
	{ .name = "a watch that ended at once",
	  .leak = 20,
	  .table = { 3 },
	  .anonymous = { 50 },
	  .cuts = 1,
	  .end = HS_WATCH_INTERRUPTED },
};

static size_t cuts_of(const struct story *story) { return story->cuts ? story->cuts : CUTS; }

// Of all three sites: what stays of each cohort of the leak; the table is of the first one; all else is new.
static size_t put_cohorts(const struct story *story, size_t i, const struct hand_sample *samples,
			  struct profile_cohort *ret)
{
	const uint32_t n = (uint32_t)i;
	size_t count = 0;

	for (uint32_t k = 1; k < n; k++)
		ret[count++] = (struct profile_cohort){
			0,
			k,
			{ .live_bytes = story->keeps * 1024,
			  .live_objects = story->keeps / 4,
			  .live_bytes_variance = story->is_estimate ? (double)story->keeps * 1024 * 1000 : 0 }
		};
	for (uint32_t k = 0; k < 3; k++)
		ret[count++] = (struct profile_cohort){ k,
							k == 1 ? 0 : n,
							{ .live_bytes = samples[k].live_bytes,
							  .live_objects = samples[k].live_objects } };
	if (n > 1) {
		ret[count - 3].live.live_bytes -= (n - 1) * story->keeps * 1024;
		ret[count - 3].live.live_objects -= (n - 1) * story->keeps / 4;
	}
	return count;
}

static void add_cut(struct watch *watch, const struct story *story, size_t i)
{
	const int64_t n = (int64_t)i;
	const int64_t kept = story->keeps * 1024 * n + story->amid[i] * MIB, // blocks of 4 KiB
		made = kept + (story->keeps ? 200 * MIB * n : 0);
	struct profile_cohort cohorts[CUTS + 3];
	const struct hand_sample samples[] = {
		{ "abcd", story->leak * MIB * n + kept, story->leak * n * 1000 + kept / 4096,
		  story->leak * MIB * n + made, story->leak * n * 1000 + made / 4096, 0 },
		{ "afd", story->table[i] * MIB, story->table[i] * 100, 12 * MIB, 9, story->is_estimate ? 1e10 : 0 },
		{ "aecd", 5000 + n % 2, 5, 5000 + story->churn * MIB * n, 5 + story->churn * n * 500, 0 },
	};
	struct hand_profile *hand = &watch->hands[i];
	struct growth_cut facts = { .seconds = 10 * (double)i };

	hand_make(hand, places, PLACES, samples, 3, 0x10000);
	hand->profile.pid = 4242;
	hand->profile.is_estimate = story->is_estimate;
	hand->profile.interval_most = story->is_estimate ? 1000 : 0;
	hand->profile.memory = (struct profile_memory){ true, (uint64_t)((story->anonymous[i] + 9) * MIB),
							(uint64_t)(story->anonymous[i] * MIB), 0, 0 };
	if (story->keeps) {
		hand->profile.cut.epoch = (uint32_t)i + 1;
		hand->profile.cohort_count = put_cohorts(story, i, samples, cohorts);
		hand->profile.cohorts = cohorts;
	}
	CHECK(!profile_view_make(&hand->profile, watch->rules, &watch->views[i]));
	CHECK(!growth_series_add(&watch->result.series, &facts, &watch->views[i].named, &watch->views[i].sites));
	hand->profile.cohorts = NULL;
	hand->profile.cohort_count = 0;
}

static void watch_make(struct watch *watch, const struct story *story)
{
	struct hs_watch_result *result = &watch->result;

	*watch = (struct watch){ .result.end = story->end, .result.output_bytes = 4097 };
	CHECK(!frame_rules_create(&watch->rules));
	for (size_t i = 0; i < cuts_of(story); i++)
		add_cut(watch, story, i);
	result->profile = watch->hands[cuts_of(story) - 1].profile;
	result->view = watch->views[cuts_of(story) - 1];
	CHECK(!growth_make(&result->series, &result->growth));
	CHECK(!verdict_make(&result->growth, &result->view.named, &result->verdict));
}

static void watch_free(struct watch *watch)
{
	verdict_deinit(&watch->result.verdict);
	growth_deinit(&watch->result.growth);
	growth_series_deinit(&watch->result.series);
	for (size_t i = 0; i < CUTS; i++) { // of fewer cuts the others are empty
		profile_view_deinit(&watch->views[i]);
		hand_free(&watch->hands[i]);
	}
	frame_rules_destroy(watch->rules);
}

// What it prints on a terminal; 0 columns = none.
static void print_on(const struct watch *watch, unsigned short columns, char *text, size_t room)
{
	const struct options options = { .command = COMMAND_WHY, .limit = 10, .output = "last.pb.gz" };
	struct winsize size = { .ws_col = columns, .ws_row = 24 };
	int mine = -1, its = -1, saved;
	size_t length = 0;
	ssize_t got;

	fflush(NULL);
	saved = dup(STDOUT_FILENO);
	CHECK(openpty(&mine, &its, NULL, NULL, &size) == 0 && dup2(its, STDOUT_FILENO) == STDOUT_FILENO);
	close(its);
	CHECK(!print_result(&options, &watch->result));
	fflush(NULL);
	CHECK(dup2(saved, STDOUT_FILENO) == STDOUT_FILENO);
	close(saved);
	CHECK(fcntl(mine, F_SETFL, O_NONBLOCK) == 0);
	while (length + 1 < room && (got = read(mine, text + length, room - 1 - length)) > 0)
		length += (size_t)got;
	text[length] = 0;
	close(mine);
	length = 0;
	for (const char *from = text; *from; from++)
		if (*from != '\r')
			text[length++] = *from;
	text[length] = 0;
}

#include "why_print_expected.h"

static void test_rates(void)
{
	static const struct {
		double rate;
		const char *expected;
	} cases[] = {
		{ 0, "" },
		{ -0.1, "" },
		{ 0.01, "<0.1 blocks/s" },
		{ 0.4, "0.4 blocks/s" },
		{ 1, "1.0 blocks/s" },
		{ 9.94, "9.9 blocks/s" },
		{ 9.96, "10 blocks/s" },
		{ 5120, "5,120 blocks/s" },
	};
	char text[NUMBER_SIZE + 16];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		write_blocks_rate(cases[i].rate, text, sizeof(text));
		CHECK_STRING(text, cases[i].expected);
	}
}

static void test_parts(void)
{
	static const struct {
		double seconds, from, to;
		const char *expected;
	} cases[] = {
		{ 6, 0, 1.25, "0.0-1.2 s" },         { 60, 10, 20, "10-20 s" },
		{ 600, 100, 200, "100-200 s" },      { 3600, 600, 1200, "10.0-20.0 min" },
		{ 360000, 3600, 9000, "1.0-2.5 h" },
	};
	char text[2 * NUMBER_SIZE];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_STRING(
			part_text(&(struct growth){ .seconds = cases[i].seconds }, cases[i].from, cases[i].to, text),
			cases[i].expected);
}

int main(void)
{
	static char text[20000];

	test_rates();
	test_parts();
	for (size_t i = 0; i < sizeof(stories) / sizeof(stories[0]); i++) {
		struct watch watch;

		watch_make(&watch, &stories[i]);
		for (size_t k = 0; k < 2; k++) {
			print_on(&watch, expected[i][k].columns, text, sizeof(text));
			CHECK_STRING(text, expected[i][k].text);
		}
		watch_free(&watch);
	}
	return CHECK_RESULT();
}
