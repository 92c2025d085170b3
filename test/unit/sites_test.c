// SPDX-License-Identifier: Apache-2.0
// Sites (views/sites.h) of a profile made by hand: who they are, what they hold, what was skipped, what led to them.
#include "check.h"
#include "hand_profile.h"
#include "made_profile.h"
#include "views/profile_view.h"

#include <stdlib.h>

static const struct {
	const char *name, *via, *path; // path: from the site's caller on
	int64_t line, live_bytes, live_objects, alloc_bytes;
	bool is_own;
	uint32_t stacks, sample;
	double bytes_variance;
} expected[] = {
	// two stacks with the same own frames are one; the way through containers does not count
	{ "shop::Cache::put", "vector", "shop::Server::handle < main", 18, 700, 7, 700, true, 2, 0, 144 },
	// the same function and line by another caller is another
	{ "shop::Cache::put", "vector", "shop::Other::handle < main", 18, 300, 3, 300, true, 1, 1, 0 },
	{ "plain.so+0x1234", "", "", 0, 50, 2, 50, false, 1, 3, 0 },
	{ "malloc", "", "", 0, 7, 1, 7, false, 1, 4, 0 },
	{ NULL, "", "", 0, 3, 3, 3, false, 1, 5, 0 },
	{ "shop::Server::handle", "xmalloc", "main", 7, 0, 0, 9, true, 1, 6, 0 },
};
enum { EXPECTED = sizeof(expected) / sizeof(expected[0]) };

static void check_site(const struct profile_view *view, size_t i)
{
	const struct site *site = &view->sites.items[i];
	char *path = NULL;

	if (!expected[i].name) {
		CHECK_EQUAL(site->path_length, 0);
	} else {
		CHECK(site->path_length > 0);
		CHECK_STRING(place_of(&view->named, site->path[0])->name, expected[i].name);
		CHECK_EQUAL(place_of(&view->named, site->path[0])->line, expected[i].line);
	}
	CHECK_STRING(site->via, expected[i].via);
	CHECK(!site_path_text(&view->named, site, 1, 100, &path));
	CHECK_STRING(path, expected[i].path);
	free(path);
	CHECK_EQUAL(site->values.live_bytes, expected[i].live_bytes);
	CHECK_EQUAL(site->values.live_objects, expected[i].live_objects);
	CHECK_EQUAL(site->values.alloc_bytes, expected[i].alloc_bytes);
	CHECK(site->values.live_bytes_variance == expected[i].bytes_variance);
	CHECK_EQUAL(site->is_own, expected[i].is_own);
	CHECK_EQUAL(site->stack_count, expected[i].stacks);
	CHECK_EQUAL(site->sample, expected[i].sample);
}

static void test_sites(const struct frame_rules *rules)
{
	struct profile_view view;

	CHECK(!profile_view_make(&made_profile, rules, &view));
	CHECK_EQUAL(view.sites.count, EXPECTED);
	CHECK(!view.kept);
	CHECK_EQUAL(view.shown.live_bytes, 1060);
	CHECK_EQUAL(view.shown_count, 7);
	for (size_t i = 0; i < EXPECTED && view.sites.count == EXPECTED; i++)
		check_site(&view, i);
	for (size_t i = 0; i < EXPECTED && view.sites.count == EXPECTED; i++)
		CHECK_EQUAL(view.sites.of_samples[expected[i].sample], i);
	CHECK_EQUAL(view.sites.of_samples[2], 0); // the first site's other stack
	profile_view_deinit(&view);
}

// Each site is made of its samples.
static void check_samples(const struct profile_view *view)
{
	for (size_t k = 0; view->kept && k < made_profile.sample_count; k++)
		CHECK_EQUAL(view->sites.of_samples[k] != UINT32_MAX, view->kept[k]);
	for (size_t i = 0; i < view->sites.count; i++) {
		struct profile_values sum = { 0 };

		for (size_t k = 0; k < made_profile.sample_count; k++)
			if (view->sites.of_samples[k] == i)
				profile_values_add(&sum, &made_profile.samples[k].values);
		CHECK_EQUAL(sum.live_bytes, view->sites.items[i].values.live_bytes);
		CHECK_EQUAL(sum.alloc_bytes, view->sites.items[i].values.alloc_bytes);
	}
}

// In other orders, and of a part of the stacks.
static void test_options(const struct frame_rules *rules)
{
	static const struct {
		enum values_order order;
		const char *focus, *ignore, *expected; // first site, its live bytes, how many sites, live bytes of all
	} cases[] = {
		{ ORDER_LIVE, NULL, NULL, "shop::Cache::put 700 6 1060" },
		{ ORDER_BLOCKS, NULL, "put", "[unknown] 3 4 60" },
		{ ORDER_ALLOCATED, "xmalloc|start_thread", NULL, "plain.so+0x1234 50 2 50" },
		{ ORDER_NAME, NULL, NULL, "[unknown] 3 6 1060" },
		{ ORDER_LIVE, "Other::handle", NULL, "shop::Cache::put 300 1 300" },
		{ ORDER_LIVE, "assign", NULL, "shop::Cache::put 100 1 100" }, // a part of a site
		{ ORDER_LIVE, "nothing is called so", NULL, "none 0 0 0" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct stack_filter *filter = NULL;
		struct profile_view view;
		const struct site *first;
		char text[100];

		CHECK(!stack_filter_create(&filter));
		if (cases[i].focus)
			CHECK(!stack_filter_add(filter, STACK_FOCUS, cases[i].focus, "--focus"));
		if (cases[i].ignore)
			CHECK(!stack_filter_add(filter, STACK_IGNORE, cases[i].ignore, "--ignore"));
		CHECK(!profile_view_make_of(&made_profile, &(struct view_options){ rules, filter, cases[i].order },
					    &view));
		first = view.sites.count > 0 ? &view.sites.items[0] : NULL;
		snprintf(text, sizeof(text), "%s %d %zu %d",
			 !first               ? "none"
			 : first->path_length ? place_of(&view.named, first->path[0])->name
					      : "[unknown]",
			 first ? (int)first->values.live_bytes : 0, view.sites.count, (int)view.shown.live_bytes);
		CHECK_STRING(text, cases[i].expected);
		CHECK(view.kept);
		check_samples(&view);
		profile_view_deinit(&view);
		stack_filter_destroy(filter);
	}
}

// A path is cut where it is asked to be.
static void test_path(const struct frame_rules *rules)
{
	struct profile_view view;
	char *text = NULL;

	CHECK(!profile_view_make(&made_profile, rules, &view));
	CHECK(!site_path_text(&view.named, &view.sites.items[0], 0, 2, &text));
	CHECK_STRING(text, "shop::Cache::put < shop::Server::handle");
	free(text);
	CHECK(!site_path_text(&view.named, &view.sites.items[0], 1, 0, &text));
	CHECK_STRING(text, "");
	free(text);
	profile_view_deinit(&view);
}

// What the user says is the user's own comes first.
static void test_rules(struct frame_rules *rules)
{
	struct profile_view view;

	CHECK(!frame_rules_add(rules, FRAME_RULE_LIBRARY, "^shop::Cache", "--library"));
	CHECK(!frame_rules_add(rules, FRAME_RULE_OWN, "/plain\\.so$", "--own"));
	CHECK(!profile_view_make(&made_profile, rules, &view));
	CHECK_STRING(place_of(&view.named, view.sites.items[0].path[0])->name, "shop::Server::handle");
	CHECK_EQUAL(view.sites.items[0].values.live_bytes, 700);
	CHECK_STRING(view.sites.items[0].via, "vector, shop::Cache::put");
	CHECK_STRING(place_of(&view.named, view.sites.items[2].path[0])->name, "plain.so+0x1234");
	CHECK(view.sites.items[2].is_own);
	profile_view_deinit(&view);
}

// Places are shared: one for each line of each function, one for each address without a symbol.
static void test_places(const struct frame_rules *rules)
{
	struct named_profile named;
	uint32_t stack[8];

	CHECK(!named_profile_make(&made_profile, rules, &named));
	CHECK_EQUAL(named.place_count, 10);
	CHECK_EQUAL(named_stack(&named, &made_samples[0], stack, 8), 4); // without malloc
	CHECK_STRING(named.places[stack[0]].name, "std::vector<int>::push_back");
	CHECK_STRING(named.places[stack[1]].full_name, "shop::Cache::put(int)");
	CHECK_EQUAL(named_stack(&named, &made_samples[0], stack, 1), 4); // no more than there is room for
	CHECK_EQUAL(named_stack(&named, &made_samples[4], stack, 8), 1); // nothing but malloc
	CHECK_EQUAL(named_stack(&named, &made_samples[5], stack, 8), 0);
	named_profile_deinit(&named);
}

// A stack by its functions, innermost first; "" = code that was made at run time.
enum { CALLED_FRAMES = 8 };
static const struct {
	const char *module, *site, *via;
	bool is_own;
	const char *frames[CALLED_FRAMES];
} called[] = {
	// what a script has called, not what that does
	{ "/usr/bin/node",
	  "node::Buffer::New",
	  "v8::BackingStore::Allocate",
	  false,
	  { "malloc", "v8::BackingStore::Allocate", "node::Buffer::New", "Builtins_CallApiCallback", "", "", "main" } },
	{ "/usr/bin/node", "node::Buffer::New", "", false, { "node::Buffer::New", "", "v8::Invoke", "main" } },
	{ "/usr/bin/python3.11",
	  "scanner_call",
	  "PyObject_Malloc, list, scan_once",
	  false,
	  { "PyObject_Malloc", "list_resize", "scan_once", "scanner_call", "_PyObject_Call", "_PyEval_EvalFrameDefault",
	    "run_mod" } },
	// the first interpreter counts, and where nothing is called by it, it is the site itself
	{ "/usr/bin/python3.11",
	  "_PyEval_EvalFrameDefault",
	  "list",
	  false,
	  { "list_resize", "_PyEval_EvalFrameDefault", "scanner_call", "_PyEval_EvalFrameDefault" } },
	// what has a name rather than what has none
	{ "/usr/bin/python3.11",
	  "scanner_call",
	  "scan_once",
	  false,
	  { "scan_once", "scanner_call", "", "_PyEval_EvalFrameDefault", "run_mod" } },
	// own code comes first, on either side
	{ "/opt/app", "app::run", "list, interpreter", true, { "PyList_New", "_PyEval_EvalFrameDefault", "app::run" } },
	{ "/opt/app", "app::put", "", true, { "app::put", "", "app::run" } },
	// without an interpreter: the innermost
	{ "/usr/lib/libxml2.so.2", "xmlNewNode", "", false, { "malloc", "xmlNewNode", "xmlParse" } },
};

static void test_called(const struct frame_rules *rules)
{
	for (size_t i = 0; i < sizeof(called) / sizeof(*called); i++) {
		struct profile_function functions[CALLED_FRAMES];
		struct profile_line lines[CALLED_FRAMES];
		struct profile_location locations[CALLED_FRAMES];
		struct profile_module module = { .path = (char *)called[i].module };
		uint32_t frames[CALLED_FRAMES], count = 0;
		struct profile_sample sample = { .values = { 1, 1, 1, 1, 1, 0, 0 } };
		struct heap_profile profile = { .functions = functions,
						.lines = lines,
						.modules = &module,
						.module_count = 1,
						.locations = locations,
						.frames = frames,
						.samples = &sample,
						.sample_count = 1 };
		struct profile_view view;

		for (; count < CALLED_FRAMES && called[i].frames[count]; count++) {
			const char *name = called[i].frames[count];

			functions[count] =
				(struct profile_function){ .name = (char *)name, .system_name = "", .file = "" };
			lines[count] = (struct profile_line){ count, 0 };
			locations[count] = (struct profile_location){ .first_line = count,
								      .line_count = *name != 0,
								      .module = *name ? 0 : UINT32_MAX,
								      .mapping = UINT32_MAX };
			frames[count] = count;
		}
		profile.function_count = profile.line_count = profile.location_count = profile.frame_count = count;
		sample.frame_count = count;
		CHECK(!profile_view_make(&profile, rules, &view));
		CHECK_EQUAL(view.sites.count, 1);
		CHECK_STRING(place_of(&view.named, view.sites.items[0].path[0])->name, called[i].site);
		CHECK_STRING(view.sites.items[0].via, called[i].via);
		CHECK_EQUAL(view.sites.items[0].is_own, called[i].is_own);
		profile_view_deinit(&view);
	}
}

// Own code without a name is no site, and not on the way to one, where other own code has a name.
static void test_nameless(void)
{
	static const struct hand_place places[] = {
		{ "malloc", "malloc", "", 0, "libc.so.6", FRAME_ALLOCATOR },           // a
		{ "near get+0x612 in app", NULL, "", 0x1612, "app", FRAME_OWN },       // b
		{ "near get+0x700 in app", NULL, "", 0x1700, "app", FRAME_OWN },       // c
		{ "get", "get(int)", "get.c", 7, "app", FRAME_OWN },                   // d
		{ "main", "main", "main.c", 3, "app", FRAME_OWN },                     // e
		{ "vector", "std::vector::push_back", "", 0, "app", FRAME_CONTAINER }, // f
		{ "lib.so+0x1234", NULL, "", 0x1234, "lib.so", FRAME_LIBRARY },        // g
	};
	static const struct {
		const char *stack, *site, *path, *via;
	} cases[] = {
		{ "abde", "get", "main", "code without a name" },
		{ "abcde", "get", "main", "code without a name" },
		{ "afbde", "get", "main", "vector, code without a name" },
		{ "adbe", "get", "main", "" },
		{ "abe", "near get+0x612 in app", "main", "" }, // all that the program does is in main
		{ "ab", "near get+0x612 in app", "", "" },
		{ "abce", "near get+0x612 in app", "near get+0x700 in app < main", "" },
		{ "ae", "main", "", "" },
		{ "age", "main", "", "lib.so+0x1234" },
		{ "ag", "lib.so+0x1234", "", "" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct hand_sample sample = { cases[i].stack, 1, 1, 1, 1, 0 };
		struct hand_profile hand;
		struct site_list sites;
		bool *kept = NULL;
		char *path = NULL;

		hand_make(&hand, places, sizeof(places) / sizeof(places[0]), &sample, 1, 0x10000);
		CHECK(!sites_make(&hand.named, &sites));
		CHECK_EQUAL(sites.count, 1);
		CHECK_STRING(place_of(&hand.named, sites.items[0].path[0])->name, cases[i].site);
		CHECK_STRING(sites.items[0].via, cases[i].via);
		CHECK(!site_path_text(&hand.named, &sites.items[0], 1, 100, &path));
		CHECK_STRING(path, cases[i].path);
		CHECK(!site_samples(&hand.named, &sites.items[0], &kept));
		CHECK(kept[0]);
		free(kept);
		free(path);
		sites_deinit(&sites);
		hand_free(&hand);
	}
}

// Each sample is of one site.
static void test_samples(const struct frame_rules *rules)
{
	uint32_t owners[64] = { 0 };
	struct profile_view view;

	CHECK(!profile_view_make(&made_profile, rules, &view));
	for (size_t i = 0; i < view.sites.count; i++) {
		const struct site *site = &view.sites.items[i];
		int64_t live = 0;
		uint32_t stacks = 0;
		bool *kept = NULL;

		CHECK(!site_samples(&view.named, site, &kept));
		for (size_t k = 0; k < made_profile.sample_count; k++) {
			owners[k] += kept[k];
			stacks += kept[k];
			live += kept[k] ? made_profile.samples[k].values.live_bytes : 0;
		}
		CHECK(kept[site->sample]);
		CHECK_EQUAL(stacks, site->stack_count);
		CHECK_EQUAL(live, site->values.live_bytes);
		free(kept);
	}
	for (size_t k = 0; k < made_profile.sample_count; k++)
		CHECK_EQUAL(owners[k], 1);
	profile_view_deinit(&view);
}

int main(void)
{
	struct frame_rules *rules = NULL;

	CHECK(!frame_rules_create(&rules));
	test_sites(rules);
	test_options(rules);
	test_path(rules);
	test_places(rules);
	test_called(rules);
	test_nameless();
	test_samples(rules);
	test_rules(rules);
	frame_rules_destroy(rules);
	return CHECK_RESULT();
}
