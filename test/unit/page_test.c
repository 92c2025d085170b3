// SPDX-License-Identifier: Apache-2.0
// What a page's data is made of: the tree of stacks, the blocks, and that nothing in them can mean anything in HTML.
// What a browser makes of it: test/page/.
#include "base/json.h"
#include "check.h"
#include "made_named.h"
#include "proto/known_profile.h"
#include "proto/page/page.h"
#include "proto/page/page_data.h"
#include "proto/page/page_tree.h"

#include <stdlib.h>

static const struct page_options no_options = { 0 };

static char *data_text(const struct made_named *made, const struct page_options *options)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	CHECK(!page_data_write(&made->named, &made->sites, options, file));
	CHECK(fclose(file) == 0);
	return text;
}

static void test_markup(void)
{
	static const struct {
		const char *text, *in_markup, *elsewhere;
	} cases[] = {
		{ "plain", "{\"k\":\"plain\"}\n", "{\"k\":\"plain\"}\n" },
		{ "</script>", "{\"k\":\"\\u003c/script\\u003e\"}\n", "{\"k\":\"</script>\"}\n" },
		{ "<!--", "{\"k\":\"\\u003c!--\"}\n", "{\"k\":\"<!--\"}\n" },
		{ "a&lt;b", "{\"k\":\"a\\u0026lt;b\"}\n", "{\"k\":\"a&lt;b\"}\n" },
		{ "operator<<\"\\", "{\"k\":\"operator\\u003c\\u003c\\\"\\\\\"}\n",
		  "{\"k\":\"operator<<\\\"\\\\\"}\n" },
		{ "\xe2\x80\xa8\xe2\x80\xa9", "{\"k\":\"\\u2028\\u2029\"}\n", "{\"k\":\"\\u2028\\u2029\"}\n" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (int in_markup = 0; in_markup < 2; in_markup++) {
			char *written = NULL;
			size_t size;
			FILE *file = open_memstream(&written, &size);
			struct json json;

			json_begin(&json, file);
			json.in_markup = in_markup;
			json_string(&json, "k", cases[i].text);
			CHECK(json_end(&json));
			fclose(file);
			CHECK_STRING(written, in_markup ? cases[i].in_markup : cases[i].elsewhere);
			free(written);
		}
	}
}

// Stacks innermost first; the letters of the tree's nodes outermost first.
static void test_tree(void)
{
	static const struct {
		const char *stack;
		int64_t bytes;
		uint32_t node;
	} stacks[] = {
		{ "cba", 10, 3 }, { "dba", -20, 4 }, { "a", 1, 1 },    { "cba", INT64_MAX, 3 }, { "", 7, 5 },
		{ "ab", 2, 7 },   { "", -3, 5 },     { "bbba", 3, 9 }, { "ba", 0, 2 },
	};
	static const struct {
		uint32_t parent;
		char place;
		int64_t bytes;
	} nodes[] = {
		{ 0, 0, 0 },   { 0, 'a', 1 }, { 1, 'b', 0 }, { 2, 'c', INT64_MAX }, { 2, 'd', -20 },
		{ 0, '?', 4 }, { 0, 'b', 0 }, { 6, 'a', 2 }, { 2, 'b', 0 },         { 8, 'b', 3 },
	};
	struct made_named *made = made_named_create();
	struct page_tree tree;

	for (int i = 0; i < 4; i++)
		made_place(made, "f", NULL, "", 0, "", FRAME_OWN);
	for (size_t i = 0; i < sizeof(stacks) / sizeof(stacks[0]); i++) {
		const size_t length = strlen(stacks[i].stack);
		uint32_t places[8];

		for (size_t j = 0; j < length; j++)
			places[j] = (uint32_t)(stacks[i].stack[j] - 'a');
		made_sample(made, places, (uint32_t)length, &(struct profile_values){ .live_bytes = stacks[i].bytes });
	}
	CHECK(!page_tree_make(&made->named, &tree));
	CHECK_EQUAL(tree.count, sizeof(nodes) / sizeof(nodes[0]));
	for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]) && i < tree.count; i++) {
		CHECK_EQUAL(tree.nodes[i].parent, nodes[i].parent);
		CHECK_EQUAL(tree.nodes[i].place, nodes[i].place == 0     ? PAGE_PLACE_ROOT
						 : nodes[i].place == '?' ? PAGE_PLACE_UNKNOWN
									 : (uint32_t)(nodes[i].place - 'a'));
		CHECK_EQUAL(tree.nodes[i].values[PAGE_LIVE_BYTES], nodes[i].bytes);
	}
	for (size_t i = 0; i < sizeof(stacks) / sizeof(stacks[0]); i++)
		CHECK_EQUAL(tree.sample_nodes[i], stacks[i].node);
	page_tree_deinit(&tree);
	made_named_free(made);
}

// What was found: texts as a target's names may make them.
static char found_first[] = "a < b", found_second[] = "c", found_by[][8] = { "since a", "b > a" };
static const struct verdict found = {
	.findings = { { .text = found_first, .reasons = { found_by[0], found_by[1] }, .reason_count = 2 },
		      { .text = found_second } },
	.count = 2
};

// Everything that a small difference is written as.
static void test_data(void)
{
	static const struct page_point series[] = { { 0, 1000, 10 }, { 1.5, 2000, -4 } };
	static const struct page_options options = { .title = "new \xe2\x80\xae",
						     .compared_with = "</script>",
						     .verdict = &found,
						     .series = series,
						     .series_count = 2 };
	struct made_named *made = made_named_create();
	const uint32_t put = made_place(made, "put<T>", "put<</script>", "a&b.c", 12, "app", FRAME_OWN),
		       add = made_place(made, "add", NULL, "", 0, "\xff", FRAME_CONTAINER);
	const uint32_t sample = made_sample(made, (uint32_t[]){ add, put }, 2,
					    &(struct profile_values){ 1, 2, -3, -4000000000000, 0, 0, 0, 0 });
	char *text;

	made_site(made, sample, "");
	made->profile.pid = 42;
	made->profile.time_ns = 1700000000123456789;
	made->profile.duration_ns = 2500000000;
	made->profile.memory = (struct profile_memory){ true, 9000, 8000, 1, 9500 };
	made->profile.program = (char *)(uintptr_t) "app";
	made->profile.mappings = &(struct profile_mapping){ .file = (char *)(uintptr_t) "/bin/<app>",
							    .build_id = (char *)(uintptr_t) "ab12" };
	made->profile.mapping_count = 1;
	made->profile.ledger = &(struct ledger_line){ .name = (char *)(uintptr_t) "lost",
						      .text = (char *)(uintptr_t) "records & more",
						      .value = 5,
						      .is_loss = true };
	made->profile.ledger_count = 1;
	text = data_text(made, &options);
	CHECK_STRING(
		text,
#define BLOCK "<script type=\"application/json\" class=\"data\">"
#define END   "\n</script>\n"
		BLOCK
		"{\"head\":{\"layout\":1,\"title\":\"new \\\\u202e\",\"program\":\"app\","
		"\"compared_with\":\"\\u003c/script\\u003e\",\"verdict\":["
		"{\"text\":\"a \\u003c b\",\"reasons\":[\"since a\",\"b \\u003e a\"]},{\"text\":\"c\",\"reasons\":[]}],"
		"\"pid\":42,\"time\":1700000000123,\"duration\":2.5,\"period\":1,\"interval_most\":0,"
		"\"estimate\":false,\"stopped\":false,\"stacks\":1,"
		"\"total\":[-4000000000000,-3,2,1],\"bytes_error\":0,\"objects_error\":0,"
		"\"selection\":null,\"memory\":{\"rss\":9000,\"anonymous\":8000,\"swapped\":1,\"peak\":9500},"
		"\"other_heap\":null,\"complete\":true,\"completeness\":null,"
		"\"strings\":10,\"places\":3,\"nodes\":3,\"sites\":1,"
		"\"series\":[[0,1000,10],[1.5,2000,-4]],\"mappings\":[[\"/bin/\\u003capp\\u003e\",\"ab12\"]],"
		"\"ledger\":[{\"name\":\"lost\",\"text\":\"records \\u0026 more\",\"value\":5,"
		"\"loss\":true,\"fact\":false}]}}" END BLOCK
		"{\"strings\":[\"\",\"put\\u003cT\\u003e\",\"put\\u003c\\u003c/script\\u003e\",\"a\\u0026b.c\","
		"\"app\",\"no rule knows it\",\"add\",\"\\\\xff\",\"made by hand\",\"[stack unknown]\"]}" END BLOCK
		"{\"places\":{\"name\":[1,6,9],\"full\":[2,6,9],\"file\":[3,0,0],\"module\":[4,7,0],"
		"\"why\":[5,8,0],\"via\":[0,0,0],\"line\":[12,0,0],\"class\":[1,4,0]}}" END BLOCK
		"{\"nodes\":{\"up\":[1,1],\"place\":[0,1],\"live_bytes\":[0,-4000000000000],"
		"\"live_objects\":[0,-3],\"alloc_bytes\":[0,2],\"alloc_objects\":[0,1]}}" END BLOCK
		"{\"sites\":{\"place\":[0],\"node\":[2],\"via\":[0],\"own\":[1],\"stacks\":[1],"
		"\"live_bytes\":[-4000000000000],\"live_objects\":[-3],\"alloc_bytes\":[2],"
		"\"alloc_objects\":[1],\"error\":[0]}}" END);
	free(text);
	made_named_free(made);
}

// Where it is known how many allocations were temporary, there is a value more.
static void test_temporaries(void)
{
	static const struct page_options options = { .title = "t" };
	struct made_named *made = made_named_create();
	const uint32_t put = made_place(made, "put", NULL, "", 1, "app", FRAME_OWN);
	const uint32_t sample =
		made_sample(made, (uint32_t[]){ put }, 1, &(struct profile_values){ 10, 20, 3, 4, 0, 0, 0, 7 });
	char *text;

	made_site(made, sample, "");
	made->profile.has_temporaries = true;
	text = data_text(made, &options);
	CHECK(strstr(text, "\"total\":[4,3,20,10,7],"));
	CHECK(strstr(text, "\"alloc_objects\":[10],\"temporary_objects\":[7]}}"));
	CHECK(strstr(text, "\"alloc_objects\":[10],\"temporary_objects\":[7],\"error\":[0]}}"));
	free(text);
	made_named_free(made);
}

// The number of elements that hold data. Nothing else may begin with "<", however many blocks there are.
static int count_blocks(const char *text)
{
	static const char end[] = "</script>\n";
	int blocks = 0;

	for (const char *at = text; (at = strchr(at, '<')); at++) {
		const bool begins = strncmp(at, BLOCK, sizeof(BLOCK) - 1) == 0;

		CHECK(begins || strncmp(at, end, sizeof(end) - 1) == 0);
		blocks += begins;
	}
	CHECK(strchr(text, '&') == NULL);
	return blocks;
}

// More rows than a block holds, of each kind but places; and the unknown stack has its place behind the others.
static void test_blocks(void)
{
	enum { STACKS = 20000, FANOUT = 200 };
	struct made_named *made = made_named_create();
	static char names[FANOUT][32];
	char *text;

	for (uint32_t i = 0; i < FANOUT; i++) {
		snprintf(names[i], sizeof(names[i]), "<%u>&'\"", i);
		made_place(made, names[i], NULL, "", 0, "", FRAME_OWN);
	}
	for (uint32_t i = 0; i < STACKS; i++)
		made_site(made,
			  made_sample(made, (uint32_t[]){ i % FANOUT, i / FANOUT }, 2,
				      &(struct profile_values){ .live_bytes = 1 + i }),
			  names[i % FANOUT]);
	made_sample(made, NULL, 0, &(struct profile_values){ .live_bytes = 1 });
	text = data_text(made, &no_options);
	CHECK_EQUAL(count_blocks(text), 1 + 1 + 1 + 2 + 2);
	CHECK(strstr(text, ",200],\"live_bytes\":") != NULL);
	CHECK(strlen(text) < (size_t)STACKS * 100);
	free(text);
	made_named_free(made);
}

static void test_nothing(void)
{
	struct made_named *made = made_named_create();
	char *text = data_text(made, &no_options);

	CHECK_EQUAL(count_blocks(text), 3); // head, strings, the unknown place
	CHECK(strstr(text, "\"compared_with\":null,\"verdict\":[],") != NULL);
	free(text);
	made_named_free(made);
}

// The whole page, where this program has one.
static void test_page(void)
{
	struct made_named *made = made_named_create();
	char *data = NULL;
	size_t size = 0;
	struct hs_error *error = page_encode(&made->named, &made->sites, &no_options, &data, &size);

	if (page_is_built()) {
		CHECK(!error);
		CHECK_EQUAL(size, strlen(data));
		CHECK(profile_is_known(data, size)); // a new one may replace it
		CHECK(strncmp(data, "<!DOCTYPE html>", 15) == 0);
		CHECK(strstr(data, "default-src 'none'") != NULL);
		CHECK(strstr(data, BLOCK "{\"head\"") != NULL);
		CHECK(size > 8 && strcmp(data + size - 8, "</html>\n") == 0);
		CHECK(size < 1 << 20);
	} else {
		CHECK(error && error->code == HS_ERROR_REFUSED && strstr(error->message, "npm"));
	}
	hs_error_destroy(error);
	free(data);
	made_named_free(made);
}

int main(void)
{
	test_markup();
	test_tree();
	test_data();
	test_temporaries();
	test_blocks();
	test_nothing();
	test_page();
	return CHECK_RESULT();
}
