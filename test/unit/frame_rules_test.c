// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include "frame_cases.h"
#include "views/drop_regex.h"
#include "views/frame_patterns.h"
#include "views/frame_rules.h"
#include "views/pattern_index.h"

#include <regex.h>
#include <stdlib.h>
#include <time.h>

static struct frame_judgement judge(const struct frame_rules *rules, const struct judged *item)
{
	struct frame_text frame = {
		item->function, "", item->file ? item->file : "", item->module ? item->module : PROGRAM, false, false
	};

	return frame_rules_judge(rules, &frame);
}

static void check_cases(const struct frame_rules *rules, const struct judged *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct frame_judgement judgement = judge(rules, &cases[i]);

		if (judgement.class != cases[i].class)
			fprintf(stderr, "%s (%s): ", cases[i].function, judgement.why);
		CHECK_STRING(frame_class_name(judgement.class), frame_class_name(cases[i].class));
		CHECK(judgement.why && judgement.why[0]);
		if (cases[i].via)
			CHECK_STRING(judgement.via, cases[i].via);
	}
}

// A path that is longer than can be made plain is taken as it is.
static void test_long_paths(const struct frame_rules *rules)
{
	static const char beginning[] = "/usr/x/../include/";
	char path[2048];

	for (size_t size = 900; size < sizeof(path) - sizeof(beginning); size++) {
		struct judged item = { FRAME_OWN, "whatever", NULL, PROGRAM, path };

		memset(path, 'a', sizeof(path));
		memcpy(path, beginning, sizeof(beginning) - 1);
		path[sizeof(beginning) - 1 + size] = 0;
		// What is left is "/usr/include/" and that many bytes, and a 0 behind them.
		CHECK_EQUAL(judge(rules, &item).class,
			    strlen("/usr/include/") + size < 1024 ? FRAME_LIBRARY : FRAME_OWN);
	}
}

static void test_why(const struct frame_rules *rules)
{
	static const struct {
		const char *function, *file, *module;
		bool is_allocator, is_wrapper;
		const char *why;
	} cases[] = {
		{ "malloc", "", PROGRAM, false, false, "pattern malloc" },
		{ "g_list_append", "", PROGRAM, false, false, "pattern g_list_*" },
		{ "std::vector<int>::push_back(int)", "", PROGRAM, false, false, "pattern std::vector::*" },
		{ "app::X::operator new(unsigned long)", "", PROGRAM, false, false, "pattern *::operator new" },
		{ "my_pool_take", "", PROGRAM, true, false, "symbol of an allocator" },
		{ "whatever", "", "/usr/lib/libstdc++.so.6", false, false, "module libstdc++*" },
		{ "whatever", "", "/usr/lib/libnobody.so.1", false, false, "folder of the module" },
		{ "whatever", "/usr/include/a.h", PROGRAM, false, false, "source file" },
		{ "whatever", "", PROGRAM, false, false, "no rule knows it" },
		{ "", "", PROGRAM, false, false, "no name" },
		{ "my_pool_take", "", "/usr/lib/libnobody.so.1", false, true,
		  "its code only allocates for its caller" },
		{ "g_list_append", "", PROGRAM, false, true, "pattern g_list_*" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct frame_text frame = { cases[i].function,     "",
					    cases[i].file,         cases[i].module,
					    cases[i].is_allocator, cases[i].is_wrapper };

		CHECK_STRING(frame_rules_judge(rules, &frame).why, cases[i].why);
	}
	CHECK_STRING(frame_class_name(FRAME_CONTAINER), "container");
	CHECK_STRING(frame_class_name(FRAME_CLASS_COUNT), "unknown");
}

static void check_user(const struct frame_rules *rules, const char *function, const char *module,
		       enum frame_class class, const char *why)
{
	struct frame_judgement judgement = judge(rules, &(struct judged){ class, function, NULL, module, NULL });

	CHECK_STRING(frame_class_name(judgement.class), frame_class_name(class));
	CHECK_STRING(judgement.why, why);
}

static void test_user_rules(void)
{
	struct frame_rules *rules = NULL;

	CHECK(!frame_rules_create(&rules));
	CHECK(!frame_rules_add(rules, FRAME_RULE_LIBRARY, "^shop::", "--library"));
	CHECK(!frame_rules_add(rules, FRAME_RULE_OWN, "^shop::Cache::", "--own"));
	CHECK(!frame_rules_add_text(
		rules, "# mine\n\nlibrary  libshop \r\n\town ^std::vector<geo::|^malloc$\nown libgeo\n", "rules"));
	check_user(rules, "shop::Cart::add(int)", NULL, FRAME_LIBRARY, "--library ^shop::");
	check_user(rules, "void shop::each<int>(int)", NULL, FRAME_LIBRARY, "--library ^shop::");
	check_user(rules, "shop::Cache::add(int)", NULL, FRAME_OWN, "--own ^shop::Cache::");
	check_user(rules, "app::f(shop::Cache::X)", NULL, FRAME_OWN, "no rule knows it");
	check_user(rules, "f", "/opt/libshop.so", FRAME_LIBRARY, "rules:3 libshop");
	check_user(rules, "", "/opt/libshop.so", FRAME_LIBRARY, "rules:3 libshop");
	check_user(rules, "std::vector<geo::X>::f(int)", NULL, FRAME_OWN, "rules:4 ^std::vector<geo::|^malloc$");
	check_user(rules, "strange", "/usr/lib/libgeo.so", FRAME_OWN, "rules:5 libgeo");
	check_user(rules, "", "/usr/lib/libgeo.so", FRAME_OWN, "rules:5 libgeo");
	check_user(rules, "operator new(unsigned long)", "/usr/lib/libgeo.so", FRAME_ALLOCATOR,
		   "pattern operator new"); // a module's is not all its own
	check_user(rules, "malloc", NULL, FRAME_OWN, "rules:4 ^std::vector<geo::|^malloc$");
	check_user(rules, "-[shop::Cache::x", NULL, FRAME_OWN, "no rule knows it");
	frame_rules_destroy(rules);
	frame_rules_destroy(NULL);
}

static void test_bad_rules(void)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{ "own a\nforeign b\n", "f:2: a rule is \"own REGEX\" or \"library REGEX\"" },
		{ "own\n", "f:1: the regular expression is empty" },
		{ "ownership a", "f:1: a rule is \"own REGEX\" or \"library REGEX\"" },
		{ "\n\nlibrary a(", "f:3: a( is not a regular expression: Unmatched ( or \\(" },
		{ "own [\x1b", "f:1: [\\x1b is not a regular expression: Unmatched [, [^, [:, [., or [=" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct frame_rules *rules = NULL;
		struct hs_error *error;

		CHECK(!frame_rules_create(&rules));
		error = frame_rules_add_text(rules, cases[i].text, "f");
		CHECK(error && error->code == HS_ERROR_BAD_DATA);
		CHECK_STRING(error ? error->message : NULL, cases[i].message);
		hs_error_destroy(error);
		frame_rules_destroy(rules);
	}
}

static bool is_dropped_class(enum frame_class class)
{
	return class == FRAME_ALLOCATOR || class == FRAME_WRAPPER || class == FRAME_CONTAINER;
}

// The table itself: marks only where they mean something, no two rows that say different things of the same names, and
// nothing within a row for pprof's drop_frames that is of another class.
static void check_list(const struct pattern_list *list, const struct pattern_list *beginnings)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct pattern_entry *entry = &list->items[i];

		CHECK(!strpbrk(entry->text, "{}"));
		CHECK(!strchr(entry->text, '*') || strstr(entry->text, "(*"));
		CHECK(entry->size == strlen(entry->text) && entry->size > 0 && entry->size < 100);
		if (i && strcmp(entry->text, entry[-1].text) == 0 && !entry->row->within == !entry[-1].row->within &&
		    !entry->row->within)
			CHECK_STRING(frame_class_name(entry->row->class), frame_class_name(entry[-1].row->class));
		for (size_t j = 0; j < beginnings->count; j++) {
			const struct pattern_entry *outer = &beginnings->items[j];

			if (outer == entry || strncmp(entry->text, outer->text, outer->size) != 0 ||
			    outer->row->within || !is_dropped_class(outer->row->class))
				continue;
			if (!is_dropped_class(entry->row->class))
				fprintf(stderr, "%s within %s\n", entry->why, outer->why);
			CHECK(is_dropped_class(entry->row->class));
		}
	}
}

static void test_table(void)
{
	struct pattern_index index;

	CHECK(!pattern_index_init(&index, frame_patterns, frame_pattern_count, "pattern"));
	check_list(&index.whole, &index.beginnings);
	check_list(&index.beginnings, &index.beginnings);
	check_list(&index.last_parts, &(struct pattern_list){ 0 });
	printf("%zu whole names, %zu beginnings, %zu last parts\n", index.whole.count, index.beginnings.count,
	       index.last_parts.count);
	pattern_index_deinit(&index);
}

// As pprof's simplifyFunc (profile/prune.go): without what is behind the first "(" that is no known one.
static void simplify(char *name)
{
	static const char *const known[] = { "(anonymous namespace)", "operator()" };

	for (char *at = name; *at; at++) {
		size_t i = 0;

		while (i < 2 && strncmp(at, known[i], strlen(known[i])) != 0)
			i++;
		if (i < 2) {
			at += strlen(known[i]) - 1;
		} else if (*at == '(') {
			*at = 0;
			return;
		}
	}
}

static void check_drop(const regex_t *regex, const struct judged *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char name[1024];

		if (!cases[i].function[0] || (cases[i].module && cases[i].class != FRAME_OWN))
			continue; // judged by its module
		if (strstr(cases[i].function, " as <"))
			continue; // types within types
		// C++ and Rust share namespaces' names, and a simplified name does not say which it is.
		if (strncmp(cases[i].function, "alloc::", 7) == 0 || strncmp(cases[i].function, "bytes::", 7) == 0 ||
		    strstr(cases[i].function, "as app::") || strstr(cases[i].function, "(*"))
			continue;
		snprintf(name, sizeof(name), "%s", cases[i].function);
		simplify(name);
		if ((regexec(regex, name, 0, NULL, 0) == 0) != is_dropped_class(cases[i].class))
			fprintf(stderr, "%s: ", name);
		CHECK_EQUAL(regexec(regex, name, 0, NULL, 0) == 0, is_dropped_class(cases[i].class));
	}
}

#define CASES(cases) (cases), sizeof(cases) / sizeof((cases)[0])

static void test_drop_regex(void)
{
	char *text = NULL, *whole = NULL;
	regex_t regex;

	CHECK(!drop_regex_make(NULL, &text));
	CHECK(text && asprintf(&whole, "^(%s)$", text) > 0);
	if (!whole)
		return;
	CHECK_EQUAL(regcomp(&regex, whole, REG_EXTENDED | REG_NOSUB), 0);
	printf("drop_frames: %zu bytes\n", strlen(text));
	check_drop(&regex, CASES(own));
	check_drop(&regex, CASES(allocators));
	check_drop(&regex, CASES(wrappers));
	check_drop(&regex, CASES(containers));
	check_drop(&regex, CASES(others));
	regfree(&regex);
	free(whole);
	free(text);
}

// A hundred thousand functions take a part of a second; hostile names no more than ordinary ones by their length.
static void test_speed(const struct frame_rules *rules)
{
	enum { LONG = 16000 };
	static char deep[LONG + 1], wide[LONG + 1];
	clock_t begin = clock();

	for (int i = 0; i < CHECK_TIMES(100000, 10000); i++)
		judge(rules, &containers[(size_t)i % (sizeof(containers) / sizeof(containers[0]))]);
	printf("%.3f s\n", (double)(clock() - begin) / CLOCKS_PER_SEC);
	CHECK(clock() - begin < 2 * CLOCKS_PER_SEC);
	for (size_t i = 0; i < LONG; i++) {
		deep[i] = i < LONG / 2 ? '<' : '>';
		wide[i] = "a::"[i % 3];
	}
	begin = clock();
	for (int i = 0; i < CHECK_TIMES(1000, 100); i++) {
		CHECK_EQUAL(judge(rules, &(struct judged){ .function = deep }).class, FRAME_OWN);
		CHECK_EQUAL(judge(rules, &(struct judged){ .function = wide }).class, FRAME_OWN);
	}
	CHECK(clock() - begin < 2 * CLOCKS_PER_SEC);
}

// What a frame does with other code, whatever a list of skipped frames calls it.
static void test_roles(const struct frame_rules *rules)
{
	static const struct {
		const char *function, *module;
		enum frame_role role;
	} cases[] = {
		{ "_start", PROGRAM, ROLE_START },
		{ "start_thread", LIBC, ROLE_START },
		{ "PyObject_Call", PROGRAM, ROLE_INTERPRETER },
		{ "Builtins_CEntry_Return1_ArgvOnStack_NoBuiltinExit", PROGRAM, ROLE_INTERPRETER },
		{ "vm_exec_core", "/usr/lib/libruby-3.1.so.3.1", ROLE_INTERPRETER },
		{ "vm_exec_core", PROGRAM, ROLE_NONE },
		{ "", "//anon", ROLE_MADE_CODE },
		{ "", "", ROLE_MADE_CODE },
		{ "", PROGRAM, ROLE_NONE },
		{ "malloc", LIBC, ROLE_NONE },
		{ "main", PROGRAM, ROLE_NONE },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct frame_text frame = { cases[i].function, "", "", cases[i].module, false, false };

		CHECK_EQUAL(frame_rules_judge(rules, &frame).role, cases[i].role);
	}
}

int main(void)
{
	struct frame_rules *rules = NULL;

	CHECK(!frame_rules_create(&rules));
	check_cases(rules, CASES(own));
	check_cases(rules, CASES(allocators));
	check_cases(rules, CASES(wrappers));
	check_cases(rules, CASES(containers));
	check_cases(rules, CASES(others));
	test_long_paths(rules);
	test_why(rules);
	test_roles(rules);
	test_user_rules();
	test_bad_rules();
	test_table();
	test_drop_regex();
	test_speed(rules);
	frame_rules_destroy(rules);
	return CHECK_RESULT();
}
