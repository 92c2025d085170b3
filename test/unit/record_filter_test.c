// SPDX-License-Identifier: Apache-2.0
// Which blocks are in a selection, which are not, and of which that cannot be told.
#include "check.h"
#include "made_region.h"
#include "snapshot/profile/record_filter.h"
#include "snapshot/profile/selection_text.h"

enum { MAIN, WORKER, ENDED, WORKER_AGAIN, THREADS }; // by their first allocation
enum { NOW = 100000, PER_US = 1000 };                // ticks: one a nanosecond

static const uint32_t tids[THREADS] = { 10, 11, 12, 11 }; // the id of a worker that has ended is used again
static const struct thread_name living[] = { { 10, 510, "server" }, { 11, 511, "worker" } };
static const struct thread_names names = { .items = (struct thread_name *)living, .count = 2 };

static const struct block_record records[] = {
	{ .birth = 10000, .thread = MAIN, .size = 10, .epoch = 1 },
	{ .birth = 40000, .thread = MAIN, .size = 100, .epoch = 1 },
	{ .birth = 60000, .thread = WORKER_AGAIN, .size = 1000, .epoch = 2 },
	{ .birth = 90000, .thread = MAIN, .size = 10000, .epoch = 2 },
	{ .birth = 20000, .thread = WORKER, .size = 0, .epoch = 1, .interval = 4096 },
	{ .birth = 30000, .thread = ENDED, .size = 50, .epoch = 1 },
};
enum { RECORDS = sizeof(records) / sizeof(records[0]) };

// + in, - out, u undecided; of each record
static const struct {
	struct block_selection selection;
	const char *answers, *text;
} cases[] = {
	{ { .labels = LABEL_AGE }, "++++++", NULL },
	{ { .size_least = 100 }, "-+++--", "of at least 100 bytes" },
	{ { .older_ns = 50000 }, "+u--uu", "older than 5e-05 s" },
	{ { .older_ns = 10000 }, "++uuuu", "older than 1e-05 s" },
	{ { .older_ns = 10001 }, "+uu-uu", "older than 1.0001e-05 s" },
	{ { .younger_ns = 50000 }, "-u++uu", "younger than 5e-05 s" },
	{ { .older_ns = 20000, .younger_ns = 50000 }, "-uu-uu", "older than 2e-05 s, younger than 5e-05 s" },
	{ { .older_ns = 50000, .size_least = 50 }, "-u---u", "older than 5e-05 s, of at least 50 bytes" },
	{ { .older_ns = UINT64_C(7200000000000) }, "------", "older than 7200 s" },
	{ { .thread = "10" }, "++-+--", "of thread 10" },
	{ { .thread = "510" }, "++-+--", "of thread 510" },
	{ { .thread = "server" }, "++-+--", "of thread server" },
	{ { .thread = "worker" }, "--+---", "of thread worker" },
	{ { .thread = "11" }, "--+-+-", "of thread 11" },
	{ { .thread = "12" }, "-----+", "of thread 12" },
	{ { .since = { .session = 7, .epoch = 2 } }, "--++--", "allocated since an earlier dump" },
	{ { .since = { .session = 7, .ticks = 50000 } }, "-u++uu", "allocated since an earlier dump" },
};

static const struct {
	struct block_selection selection;
	enum hs_error_code code;
	const char *words;
} refused[] = {
	{ { .thread = "wörker" }, HS_ERROR_NOT_FOUND, "no thread 'wörker'" },
	{ { .thread = "1\033" }, HS_ERROR_NOT_FOUND, "no thread '1\\x1b'" },
	{ { .thread = "99999999999999999999" }, HS_ERROR_NOT_FOUND, "no thread" },
	{ { .since = { .session = 8, .epoch = 2 } }, HS_ERROR_NOT_FOUND, "another process" },
};

static void check_case(const struct table_view *view, size_t number)
{
	const struct block_selection *selection = &cases[number].selection;
	struct record_filter filter;
	char answers[RECORDS + 1] = "";
	char *text = NULL;
	struct hs_error *error = record_filter_init(view, selection, &names, NOW, &filter);

	CHECK(!error);
	if (error) {
		fprintf(stderr, "case %zu: %s\n", number, error->message);
		hs_error_destroy(error);
		return;
	}
	CHECK_EQUAL(record_filter_looks_first(&filter), selection->older_ns || selection->younger_ns ||
								(selection->since.session && !selection->since.epoch));
	for (size_t i = 0; i < RECORDS; i++)
		record_filter_note(&filter, &records[i]);
	for (size_t i = 0; i < RECORDS; i++)
		answers[i] = "+-u"[record_filter_judge(&filter, &records[i])];
	CHECK_STRING(answers, cases[number].answers);
	CHECK_EQUAL(filter.is_used, cases[number].text != NULL);
	CHECK(!selection_text(selection, &text));
	CHECK_STRING(text ? text : "all", cases[number].text ? cases[number].text : "all");
	free(text);
	record_filter_deinit(&filter);
}

static void check_refused(const struct table_view *view, size_t number)
{
	struct record_filter filter;
	struct hs_error *error = record_filter_init(view, &refused[number].selection, &names, NOW, &filter);

	CHECK(error && error->code == refused[number].code && strstr(error->message, refused[number].words));
	if (error && !strstr(error->message, refused[number].words))
		fprintf(stderr, "%s\n", error->message);
	hs_error_destroy(error);
}

int main(void)
{
	const struct block_selection old = { .older_ns = 1 };
	struct made_region region;
	struct record_filter filter;
	struct table_view view;
	struct hs_error *error;

	made_region_init(&region, 100);
	region.header->ticks_per_us = PER_US;
	region.header->stable.code_nonce = 7;
	region.header->thread_count = THREADS;
	for (uint32_t i = 0; i < THREADS; i++)
		((struct thread_record *)(void *)(region.bytes + HS_OFFSET_THREADS))[i].tid = tids[i];
	view = made_view(&region);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check_case(&view, i);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		check_refused(&view, i);
	region.header->ticks_per_us = 0; // nonsense
	error = record_filter_init(&view, &old, &names, NOW, &filter);
	CHECK(error && error->code == HS_ERROR_BAD_DATA);
	hs_error_destroy(error);
	made_region_deinit(&region);
	return CHECK_RESULT();
}
